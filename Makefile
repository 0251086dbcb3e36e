# Everything runs in .venv, which the first target that needs it makes. `make help` lists the targets.
# Looked for whenever it is named: `make` may have installed it a moment ago.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
PACKAGES := .venv/packages.stamp
BUILT := .venv/built.stamp
BENCH := .venv/bench.stamp
C_SOURCES := $(shell find runtime_c -type f)
JOBS ?= 2

# Bytecode is kept between runs, whatever the environment says: every command starts faster.
unexport PYTHONDONTWRITEBYTECODE

export PATH := $(abspath $(BIN)):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

# $(call need,COMMAND:PACKAGE ...) installs the packages of the commands that are not there, or says how to.
define need
@missing=; for pair in $(1); do \
  command -v $${pair%:*} >/dev/null || missing="$$missing $${pair#*:}"; done; \
[ -z "$$missing" ] && exit 0; \
if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -qy --no-install-recommends $$missing; \
else echo "missing: sudo apt-get install -y$$missing" >&2; exit 1; fi
endef

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(BUILT) ## build everything, compile and run every example, print its largest error
	@python -m examples.run_all

test: deps lint c-test ## lint, types, import contract, C tests under sanitizers, all Python tests
	@python -m pytest -n $(JOBS)

matrix: $(BUILT) ## the property tests with many more cases
	@python -m pytest -n $(JOBS) --hypothesis-profile=matrix

lint: $(BUILT) ## style, types, import contract
	ruff check .
	ruff format --check .
	mypy
	lint-imports --no-logo

c-test: build/asan/build.ninja ## the C library's tests under ASan and UBSan, warnings as errors
	cmake --build build/asan
	ctest --test-dir build/asan --output-on-failure

bench: $(BENCH) ## the benchmarks against the peers of the bench extra
	python -m bench.gemm
	python -m bench.gemm --elements bf16 --target avx512+bf16
	python -m bench.gemm --elements i8 --target avx512+vnni
	python -m bench.rowwise
	python -m bench.attention
	python -m bench.budgets

deps: toolchain ## install the Debian packages that are missing (as root), or say which
	$(call need,g++:g++ git:git groff:groff-base)

toolchain:
	$(call need,gcc:gcc $(if $(PYTHON),,missing:python3-venv) \
	  $(shell gcc -include stdio.h -fsyntax-only -x c /dev/null 2>/dev/null || echo missing:libc6-dev))

man: $(BUILT) ## rewrite the man pages that are tables
	python -m man.generate

clean: ## remove what was built; the environment stays
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache $(BUILT)

distclean: clean ## remove the environment too
	rm -rf .venv

$(PACKAGES): pyproject.toml | toolchain
	$(PYTHON) -m venv .venv
	@python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	  print(*p["dependencies"], *p["optional-dependencies"]["test"], sep="\n")' > .venv/requirements.txt
	python -m pip install -q -r .venv/requirements.txt
	@touch $@

$(BUILT): $(PACKAGES) $(C_SOURCES)
	python -m pip install -q --no-build-isolation --no-deps -e .
	@touch $@

$(BENCH): $(BUILT)
	python -m pip install -q -e '.[bench]' --no-build-isolation
	@touch $@

build/asan/build.ninja: $(PACKAGES) runtime_c/CMakeLists.txt
	cmake -S runtime_c -B build/asan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DPPTRT_TESTS=ON \
	  -DPPTRT_SANITIZE=ON -DPPTRT_WERROR=ON

.PHONY: help man toolchain demo test matrix lint c-test bench deps clean distclean
.DELETE_ON_ERROR:
