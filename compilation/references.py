"""Large tuples of arrays by reference: compiled functions hand on an address instead of a thousand words.

To numba a named tuple is its words. A function that takes a state of a hundred arrays takes 700 words, copies them for every call,
and is compiled with all of them: each function of a scheduler took three seconds. Here the outermost compiled function, the one that is
called from Python, lays the tuple down once, on its stack. All others take its address, and read the fields that they need. Fields never
change, only what is in the arrays.

The arrays belong to Python's tuple, which outlives the call. So what is read is not counted.
"""

from __future__ import annotations

import inspect
from typing import Any

from numba.core import cgutils, types
from numba.core.extending import intrinsic, models, register_model
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr

_named_tuple: Any = types.BaseNamedTuple


class Reference(types.Type):
    """The type of the address of a named tuple. fields, types: of the tuple, where inner named tuples are references, too."""

    def __init__(self, of: Any) -> None:
        self.of = of
        self.fields = of.fields
        self.types = tuple(Reference(kind) if isinstance(kind, _named_tuple) else kind for kind in of.types)
        super().__init__(name=f"Reference({of})")


@register_model(Reference)
class _ReferenceModel(models.OpaqueModel):
    """An address."""


@infer_getattr
class _ReferenceAttribute(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Any, name: str) -> Any:  # type: ignore[override]
        """The type of a field."""
        return reference.types[reference.fields.index(name)] if name in reference.fields else None


@lower_getattr_generic(Reference)
def _read_field(context: Any, builder: Any, reference: Any, address: Any, name: str) -> Any:
    place = reference.fields.index(name)
    whole = builder.bitcast(address, context.get_data_type(reference.of).as_pointer())
    field = cgutils.gep_inbounds(builder, whole, 0, place)
    kind = reference.types[place]
    if isinstance(kind, Reference):
        return builder.bitcast(field, address.type)
    value = context.data_model_manager[kind].load_from_data_pointer(builder, field)
    return impl_ret_borrowed(context, builder, kind, value)


@intrinsic
def refer(context: Any, value: Any) -> Any:
    """The address of a named tuple, which is laid down on the stack of the function that calls this. Anything else as it is."""
    if not isinstance(value, _named_tuple):
        return value(value), lambda context, builder, signature, arguments: arguments[0]

    def lay_down(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.data_model_manager[value].as_data(builder, arguments[0])
        place = cgutils.alloca_once(builder, data.type)
        builder.store(data, place)
        return builder.bitcast(place, context.get_value_type(signature.return_type))

    return Reference(value)(value), lay_down


def with_face(core: Any, compiled: Any) -> Any:
    """A function that Python calls with named tuples, and compiled functions with references. core: takes references. compiled: compiles
    the function that stands before it."""
    function = core.py_func
    names = list(inspect.signature(function).parameters)
    handed_on = ", ".join(f"refer({name})" for name in names)
    space = {"core": core, "refer": refer}
    exec(f"def face({', '.join(names)}):\n    return core({handed_on})\n", space)
    face: Any = space["face"]
    face.__module__, face.__qualname__, face.__doc__ = function.__module__, function.__qualname__, function.__doc__
    dispatcher = compiled(face)
    dispatcher.core = core
    dispatcher.get_call_template, dispatcher.get_overload = core.get_call_template, core.get_overload
    return dispatcher
