"""The flags of `pptc`: one row each, in the order of `--help`."""

from __future__ import annotations

from pptc.cli.flags import Command, Flag, OneOf, WholeNumber
from pptc.cli.words import Style

EMIT_KINDS = ("pto", "llvm-ir", "bc", "asm", "obj", "so", "fatbin", "c-header")
PHASES = ("parse", "verify", "canonical", "tiled", "lowered", "llvm", "asm", "obj", "link")

_OUTPUT, _TARGET, _INPUT = "Output", "Target and code", "Input"
_DEPS, _IR, _DIAGNOSTICS, _DRIVER = "Dependencies", "IR and passes", "Diagnostics", "Driver"

FLAGS: tuple[Flag, ...] = (
    Flag("output", ("-o",), _OUTPUT, "write to FILE; its suffix chooses the kind; - is standard output",
         Style.SHORT, "FILE"),
    Flag("object", ("-c",), _OUTPUT, "write an object file per input, do not link"),
    Flag("assembly", ("-S",), _OUTPUT, "write assembly per input"),
    Flag("expand", ("-E",), _OUTPUT, "print the module in canonical text, includes and -D applied"),
    Flag("emit", ("--emit",), _OUTPUT, ", ".join(EMIT_KINDS), Style.LONG, "KIND", OneOf(EMIT_KINDS)),
    Flag("phase", ("--compile-to",), _OUTPUT, "stop after " + ", ".join(PHASES), Style.LONG, "PHASE",
         OneOf(PHASES)),
    Flag("prefix", ("--symbol-prefix",), _OUTPUT, "put P before every exported symbol", Style.LONG, "P"),
    Flag("target", ("-t", "--target", "-arch"), _TARGET, "machines to compile for, a,b or repeated; default host",
         Style.LONG, "T"),
    Flag("level", ("-O",), _TARGET, "effort, 0 to 3; default 2; 0 keeps every tile in memory", Style.JOINED, "LEVEL",
         OneOf("0123"), "1"),
    Flag("may_alias", ("--may-alias",), _TARGET, "pointer arguments may overlap each other"),
    Flag("pto_arch", ("--pto-arch",), _TARGET, "a3 or a5: overrides the module's pto.target_arch", Style.LONG, "ARCH",
         OneOf(("a2", "a3", "a2a3", "a5"))),
    Flag("pto_level", ("--pto-level",), _TARGET, "level2 or level3: what the text must be; default from the text",
         Style.LONG, "LEVEL", OneOf(("level2", "level3"))),
    Flag("pto_version", ("--pto-version",), _TARGET, "refuse ops that this version of the dialect does not have",
         Style.LONG, "V"),
    Flag("saturation", ("--tcvt-default-sat",), _TARGET, "a tcvt without satmode clamps (on), wraps (off), is an error",
         Style.LONG, "CHOICE", OneOf(("on", "off", "error"))),
    Flag("insert_sync", ("--enable-insert-sync",), _TARGET, "accepted; CPUs need no synchronisation of pipes"),
    Flag("supported", ("--print-supported-targets",), _TARGET, "list the targets and exit", Style.OPTIONAL, "json",
         OneOf(("json", "text")), "text"),
    Flag("target_info", ("--print-target-info",), _TARGET, "print the facts of a target and exit", Style.LONG, "T"),
    Flag("language", ("-x",), _INPUT, "language of the inputs: pto", Style.SHORT, "LANG", OneOf(("pto",))),
    Flag("include", ("-include",), _INPUT, "put the functions of FILE before those of every input", Style.LONG, "FILE"),
    Flag("include_dir", ("-I",), _INPUT, "look for -include files in DIR too", Style.SHORT, "DIR"),
    Flag("define", ("-D",), _INPUT, "the constant %NAME of the text gets this value", Style.SHORT, "NAME=VALUE"),
    Flag("deps", ("-M",), _DEPS, "print a make rule of the files read instead of compiling"),
    Flag("deps_user", ("-MM",), _DEPS),
    Flag("deps_too", ("-MD",), _DEPS, "write the rule beside the output while compiling"),
    Flag("deps_user_too", ("-MMD",), _DEPS),
    Flag("deps_file", ("-MF",), _DEPS, "where the rule goes; its target, as is or quoted for make", Style.SHORT,
         "FILE"),
    Flag("deps_target", ("-MT",), _DEPS, "", Style.SHORT, "NAME"),
    Flag("deps_quoted", ("-MQ",), _DEPS, "", Style.SHORT, "NAME"),
    Flag("deps_phony", ("-MP",), _DEPS, "an empty rule per included file; -MG takes missing ones as made later"),
    Flag("deps_missing", ("-MG",), _DEPS),
    Flag("dump", ("--dump-ir",), _IR, "print IR: after-change (default), after-all, final, before:PASS, after:PASS",
         Style.OPTIONAL, "WHEN", implied="after-change"),
    Flag("dump_dir", ("--dump-dir",), _IR, "write each dump to a numbered file of DIR", Style.LONG, "DIR"),
    Flag("dump_function", ("--dump-func",), _IR, "dump only functions whose name matches", Style.LONG, "REGEX"),
    Flag("pipeline", ("--pass-pipeline",), _IR, "run 'a,b{x=1},c' instead of the target's pipeline", Style.LONG,
         "PASSES"),
    Flag("print_pipeline", ("--print-pipeline",), _IR, "print the pipeline and exit"),
    Flag("list_passes", ("--list-passes",), _IR, "list the passes with their options and exit"),
    Flag("list_ops", ("--list-ops",), _IR, "list the ops, or those whose name begins with PREFIX", Style.OPTIONAL,
         "PREFIX", implied=""),
    Flag("verify_each", ("--verify-each",), _IR, "verify the module after every pass"),
    Flag("timing", ("--pass-timing",), _IR, "print the seconds of every stage and pass", Style.OPTIONAL, "json",
         OneOf(("json", "text")), "text"),
    Flag("remarks", ("--remarks",), _IR, "say what passes did or could not do"),
    Flag("warn", ("-W",), _DIAGNOSTICS, "GROUP, no-GROUP, all, error or error=GROUP", Style.JOINED, "NAME"),
    Flag("silent", ("-w",), _DIAGNOSTICS, "no warnings"),
    Flag("color", ("-fdiagnostics-color",), _DIAGNOSTICS, "auto, always or never", Style.OPTIONAL, "WHEN",
         OneOf(("auto", "always", "never")), "always"),
    Flag("format", ("-fdiagnostics-format",), _DIAGNOSTICS, "text or json", Style.LONG, "FORMAT",
         OneOf(("text", "json"))),
    Flag("error_limit", ("-ferror-limit",), _DIAGNOSTICS, "stop showing after N errors; 0 shows all; default 20",
         Style.LONG, "N", WholeNumber(0)),
    Flag("explain", ("--explain",), _DIAGNOSTICS, "explain a code such as P0203 and exit", Style.LONG, "CODE"),
    Flag("jobs", ("-j",), _DRIVER, "at most N worker processes", Style.SHORT, "N", WholeNumber(1)),
    Flag("verbose", ("-v",), _DRIVER, "print the steps as they run"),
    Flag("dry_run", ("-###", "--dryrun"), _DRIVER, "print the steps, run none"),
    Flag("save_temps", ("--save-temps",), _DRIVER, "keep .pto, .ll, .s, .o per target, beside the output or in DIR",
         Style.OPTIONAL, "DIR", implied=""),
    Flag("version", ("--version",), _DRIVER, "print the version and exit"),
    Flag("help", ("--help", "-h"), _DRIVER, "print this text and exit"),
)  # fmt: skip

COMMAND = Command(
    "pptc",
    "[FLAG | FILE.pto | @RESPONSE-FILE | -]...",
    "Compile PTO kernels. Without -o, k.pto becomes k.so for the machine that pptc runs on.",
    FLAGS,
    "`man pptc` says more; see also pptc-run, pptc-opt.",
)
