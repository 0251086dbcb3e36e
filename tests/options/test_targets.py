"""Targets by name: machines, variants, aliases, the host, and YAML files with faults."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pptc.diag import CompileError
from pptc.options import configs_folder, host_features, host_target, load_machine, supported_targets
from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline

CPUINFO = "processor\t: 0\nflags\t\t: {}\nbugs\t: x\n"
V3 = "sse2 pni avx avx2 bmi1 bmi2 f16c fma abm movbe"
V4 = V3 + " avx512f avx512bw avx512cd avx512dq avx512vl"


def refused(call, *arguments, **options):
    """The findings of a call that fails."""
    with pytest.raises(CompileError) as caught:
        call(*arguments, **options)
    return list(caught.value.sink)


def test_facts_of_a_machine():
    machine = load_machine("avx512")
    assert (machine.family, machine.vector_bits, machine.lanes(32)) == ("x86", 512, 16)
    assert machine.matrix["f32"].rows == 8 and machine.matrix["f32"].vectors == 2
    assert "fma" in machine.native and "dot.bf16" not in machine.native
    assert load_machine("x86-64").native == frozenset()


@pytest.mark.parametrize(
    ("alias", "name"),
    [("scalar", "x86-64"), ("x86-64-v1", "x86-64"), ("x86-64-v3", "avx2"), ("x86-64-v4", "avx512")],
)
def test_aliases(alias, name):
    assert load_machine(alias) == load_machine(name)


def test_variants_add_up_in_the_order_of_the_file():
    both = load_machine("avx512+vnni+bf16")
    assert both == load_machine("avx512+bf16+vnni")
    assert both.name == "avx512+bf16+vnni"
    assert {"dot.bf16", "dot.i8"} <= both.native
    assert both.matrix["bf16"].instruction == "dpbf16ps" and both.matrix["bf16"].group == 2
    assert (
        both.rank > load_machine("avx512+bf16").rank > load_machine("avx512").rank > load_machine("avx2").rank
    )
    assert set(both.requires) == set(load_machine("avx512").requires) | {"avx512bf16", "avx512vnni"}


@pytest.mark.parametrize("name", ["avx51", "", "avx512+bf17", "avx2+bf16", "../targets/avx2", "native"])
def test_unknown_names_are_refused_with_a_hint(name):
    (found,) = refused(load_machine, name)
    assert found.code == "P0401" and found.hint


def test_a_near_name_is_suggested():
    assert "avx512" in (refused(load_machine, "avx51")[0].hint or "")


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ("sse2", "x86-64"),
        (V3, "avx2"),
        (V4, "avx512"),
        (V4 + " avx512_bf16", "avx512+bf16"),
        (V4 + " avx512_vnni", "avx512+vnni"),
        (V4 + " avx512_vnni avx512_bf16", "avx512+bf16+vnni"),
        (V4.replace(" fma", ""), "x86-64"),
    ],
)
def test_the_host_is_the_best_target_with_all_its_variants(flags, name):
    assert host_target(CPUINFO.format(flags)) == name


def test_a_machine_that_says_nothing_is_an_error():
    (found,) = refused(host_target, "")
    assert found.code == "P0401" and "-t" in (found.hint or "")


def test_features_are_in_llvms_spelling():
    assert {"sse3", "lzcnt", "bmi"} <= host_features(CPUINFO.format(V3))


def test_every_listed_target_loads_and_its_pipelines_parse():
    for info in supported_targets():
        for name in (info.name, *info.aliases, *(f"{info.name}+{variant}" for variant, _ in info.variants)):
            machine = load_machine(name)
            assert info.doc
            for text in machine.pipelines.values():
                assert parse_pipeline(text, PASSES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(configs_folder(), tmp_path / "configs")
    return tmp_path / "configs"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("rank: 30", "rank: high", 9, "'rank' is a int"),
        ("rank: 30", "ranking: 30", 9, "'ranking' is not known"),
        ("family: x86\n", "", None, "'family' is missing"),
        ("f32: {rows: 6, vectors: 2}", "f32: {rows: 6, columns: 2}", 18, "'columns' is not known"),
        ("aliases: [x86-64-v3]", "aliases: x86-64-v3", 5, "'aliases' is a list"),
        ("vector_bits: 256", "vector_bits: [", None, "is not YAML"),
        ("name: avx2", "name: avx3", None, "name is 'avx3'"),
    ],
)
def test_faults_of_a_file_are_reported_with_their_line(folder, old, new, line, words):
    path = folder / "targets" / "avx2.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    found = refused(load_machine, "avx2", folder)
    assert all(d.code == "P0401" for d in found)
    hit = next(d for d in found if words in d.message)
    if line is not None:
        assert hit.span is not None and hit.span.position[0] == line


def test_all_faults_of_a_file_are_found(folder):
    path = folder / "targets" / "avx2.yaml"
    path.write_text(path.read_text().replace("rank: 30", "rank: high").replace("cpu:", "gpu:"))
    assert len(refused(load_machine, "avx2", folder)) == 2


def test_a_new_machine_is_one_file(folder):
    text = (folder / "targets" / "avx2.yaml").read_text()
    new = (
        text.replace("name: avx2", "name: zen1")
        .replace("aliases: [x86-64-v3]\n", "")
        .replace("x86-64-v3", "znver1")
    )
    (folder / "targets" / "zen1.yaml").write_text(new)
    assert load_machine("zen1", folder).cpu == "znver1"
    assert "zen1" in [info.name for info in supported_targets(folder)]
