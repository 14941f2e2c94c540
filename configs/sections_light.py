"""Settings of a laptop: what the product spares while nobody asks anything of it."""

from pydantic import Field

from configs.section import Section


class LightSettings(Section):
    """What is spared on one machine; the profile `light` (`aos up --light`) turns it on.

    `enabled`: Ray looks at its parts less often, and its agents tell figures of the machine once a minute. What a fault
    costs stays below what is promised for it. `rest_seconds`: the embedder and the console end when nobody has used
    them for so long, and begin with whoever asks next, who waits for that; 0: they stay.
    """

    enabled: bool = False
    rest_seconds: int = Field(0, ge=0)
