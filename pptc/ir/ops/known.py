"""Names of the dialect's ops, so that one without a row is told from a misspelt one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_TILE_OPS = """
    addptr castptr ptrtoint inttoptr load_scalar store_scalar make_tensor_view partition_view
    get_tensor_view_dim get_tensor_view_stride alloc_tile alloc_multi_tile multi_tile_get declare_tile
    declare_global tassign subview set_validshape get_validshape tile_valid_rows tile_valid_cols
    treshape bitcast tload tstore tprefetch make_prefetch_async_context get_prefetch_async_session
    tprefetch_async tmov textract tinsert ttrans tconcat tconcatidx mgather mscatter tget_scale_addr
    tfillpad tadd tsub tmul tmax tmin tdiv taddrelu taddc tsubc tand tor txor tshl tshr trem tfmod tpow
    tprelu tadds tsubs tmuls tmaxs tmins tfmods tdivs trems tpows tands tors txors tshls tshrs taddsc
    tsubsc tlrelu taxpy tabs tneg texp tlog tsqrt trecip trelu tnot trsqrt tcvt texpands tci ttri
    trandom trowsum trowmax trowmin trowprod trowargmax trowargmin tcolmax tcolmin tcolprod tcolsum
    tcolargmax tcolargmin trowexpand tcolexpand trowexpandadd trowexpandsub trowexpandmul trowexpanddiv
    trowexpandmax trowexpandmin trowexpandexpdif tcolexpandadd tcolexpandsub tcolexpandmul tcolexpanddiv
    tcolexpandmax tcolexpandmin tcolexpandexpdif tcmp tcmps tsel tsels tgather tgatherb tscatter tsort32
    tmrgsort thistogram tpartadd tpartmul tpartmax tpartmin tpartargmax tpartargmin tmatmul tmatmul.acc
    tmatmul.bias tmatmul.mx tmatmul.mx.acc tmatmul.mx.bias tgemv tgemv.acc tgemv.bias tgemv.mx
    tgemv.mx.acc tgemv.mx.bias tquant tquant.mx tdequant set_quant_scalar set_quant_vector tsetval
    tgetval declare_local_array local_array_get local_array_set declare_struct struct_get struct_set
    declare_eventid_array eventid_array_get eventid_array_set get_block_idx get_block_num
    get_subblock_idx get_subblock_num section.cube section.vector section.simt fusion_region yield
    set_flag wait_flag set_flag_dyn wait_flag_dyn barrier barrier_sync record_event wait_event get_buf
    rls_buf get_buf_dyn rls_buf_dyn sync.set sync.wait set_cross_block wait_cross_block set_intra_block
    wait_intra_block tsync syncall set_ffts cmo.cacheinvalid fence.barrier_all aic_initialize_pipe
    aiv_initialize_pipe reserve_buffer import_reserved_buffer talloc_to_aiv talloc_to_aic tpush_to_aiv
    tpush_to_aic tpop_from_aic tpop_from_aiv tfree_from_aic tfree_from_aiv initialize_l2l_pipe
    initialize_l2g2l_pipe talloc tpush tpop tfree comm.build_async_session comm.tput_async
    comm.tget_async comm.wait_async_event comm.test_async_event comm.tput comm.tget comm.tnotify
    comm.twait comm.ttest comm.tbroadcast comm.tgather comm.tscatter comm.treduce tprint print trap
"""
_HOST_OPS = """
    cf.br cf.cond_br cf.switch builtin.unrealized_conversion_cast memref.alloc memref.dealloc
    memref.reinterpret_cast memref.subview
"""

KNOWN: tuple[str, ...] = (*(f"pto.{word}" for word in _TILE_OPS.split()), *_HOST_OPS.split())
"""Ops of dialect 0.60, and of the host dialects as tile programs use them."""

REMOVED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "pto.subset": ("0.57", "pto.subview"),
        "pto.bind_tile": ("0.57", "pto.alloc_tile"),
        "pto.pointer_cast": ("0.57", "pto.alloc_tile"),
        "pto.declare_tile_memref": ("0.57", "pto.declare_tile"),
        "pto.tpack": ("0.57", "pto.tcvt"),
        "pto.tmov.fp": ("0.60", "pto.tmov with the scaling tile as second operand"),
        "pto.tstore_fp": ("0.60", "pto.tstore with `fp %scale : T` in ins"),
        "pto.tstore.fp": ("0.60", "pto.tstore with `fp %scale : T` in ins"),
        "pto.textract_fp": ("0.60", "pto.textract with `fp %scale : T` in ins"),
        "pto.tinsert_fp": ("0.60", "pto.tinsert with `fp %scale : T` in ins"),
        "pto.tput_async": ("0.57", "pto.comm.tput_async"),
        "pto.tget_async": ("0.57", "pto.comm.tget_async"),
        "pto.build_async_session": ("0.57", "pto.comm.build_async_session"),
        "pto.wait_async_event": ("0.57", "pto.comm.wait_async_event"),
        "pto.test_async_event": ("0.57", "pto.comm.test_async_event"),
    }
)
"""Ops of older dialects: the version that dropped them, and what to write now."""
