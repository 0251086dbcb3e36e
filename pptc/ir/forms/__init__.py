r"""The interpreter of assembly formats: one compiled element per directive, with parse and print side by side.

A format is a string of directives. Blanks between them mean nothing; every literal token stands in its own backquotes.

    `word` `,` `->`        a literal token
    ``                     (empty) the printer puts no blank here
    ` `                    (one blank) the printer puts a blank here, where it would not
    $name                  of an operand group: `%a` (one), `%a` or nothing (optional), `%a, %b` (many)
    $name                  of an attribute: its value without the key. ints: `[1, 2]`; symbol: `@f`; an enum with a
                           NAME: `<WORD>`, with the long form and "WORD" accepted; an enum without: the bare word
    list($a, $b, ..)       `%x, %y, ..`: one comma list over several groups, shared out by arity, required ones first,
                           then greedily from the left; where that is ambiguous the first split whose kinds accept wins
    operands               list() of all groups of the row
    type($a, $b, ..)       the types of operand groups or results, in one comma list; no parentheses
    type(operands)         type() of all groups
    type(results)          `T` when there is one, `(T, U)` or `()` otherwise
    type(all)              one type that all operands and all results have
    functional-type        `(A, B) -> R`, `(A, B) -> (R, S)`, `() -> ()`
    types                  `T` when all operands and results have one type, else `A -> R` or `(A, B) -> R`. A row with
                           the trait "derived-results" reads `T` and `(A, B)` as the operands' types, and infers the
                           results'
    attr-dict              `{key = value, ..}` of the attributes that the format does not spell elsewhere,
                           default-valued ones omitted; nothing when none is left. Unknown keys are kept. A second
                           one is read, never written
    older-attr-dict        one where older dialects have it: read, never written
    attr-dict-with-keyword the same after the word `attributes`
    mixed($a, name)        `[%i, 4, (B)]`: operands of group `a` and constants in one list. The attribute `name` is a
                           ListAttr with UNIT where an operand stands, IntAttr or DimAttr where a constant does
    mixed($a, name, parentheses)  the same in `(..)`
    keyed($a, $b, ..)      `a = %x : T, b = %y : U`: present groups in any order, printed in this one
    region                 the next region of the row: `{ .. }`. A row with the trait "yields:NAME" gets the op NAME
                           without operands as terminator where the text leaves it out; the printer omits it then
    ( .. ^ .. )?           an optional part: parsed when its first element stands there, printed when the element before
                           `^` is present (an operand, a result, an attribute, a region with blocks)
    custom<Name>           a spelling of `custom.py`, such as SymbolName: the attribute sym_name as `@name`

Types of operands need not be spelled: a value knows its type. A spelled one is checked (P0201). Types of results that
no directive spells come from the row's `infer`. A `$name` may name a result inside `type(..)` only.
"""

from pptc.ir.forms.compile import Form, compile_format
from pptc.ir.forms.contract import Draft, Reader, Writer

__all__ = ["Draft", "Form", "Reader", "Writer", "compile_format"]
