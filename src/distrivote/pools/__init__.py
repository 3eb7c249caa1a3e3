"""Sets of sampled answers that others have published, by name, to compare votes on the same samples.

`registry` has the sets; `open_pools` makes runs of them, from a folder of copies or by download.
"""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.pools.opening import OpenedPool, open_pools, pools_at_hand
    from distrivote.pools.published import PublishedPool, PublishedSet
    from distrivote.pools.registry import POOLS, pools_named

__all__ = [
    "POOLS",
    "OpenedPool",
    "PublishedPool",
    "PublishedSet",
    "open_pools",
    "pools_at_hand",
    "pools_named",
]

__getattr__ = face(
    __name__,
    {
        "opening": "OpenedPool open_pools pools_at_hand",
        "published": "PublishedPool PublishedSet",
        "registry": "POOLS pools_named",
    },
)
