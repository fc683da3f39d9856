"""The steps of WavelengthExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Run along the points: each is a plane of RoPE. The further right, the slower; the wave below shows the turns.",
        "How long is a turn of plane 32?",
        ("6 tokens", "63 tokens", "628 tokens"),
        2,
        "θ[32] = 10,000^(−1/2) = 0.01, and 2π ÷ 0.01 = 628.3.",
        "Point at plane 32 and read λ in the gray line.",
        {"context": 4096, "base": 1e4, "dim": 128, "plane": 32},
        moves=("plane",),
    ),
    Step(
        "Drag the round grip of the context line up. Open squares: no full turn within it.",
        "From which context are all points filled?",
        ("8,192", "65,536", "1,048,576"),
        1,
        "The slowest plane needs 54,410 tokens for a turn.",
        "Read “longest wavelength” below, and raise the line until no open square is left.",
        {"context": 4096, "base": 1e4, "dim": 128, "plane": 63},
        moves=("context",),
    ),
    Step(
        "The base is 500,000 here, as in Llama 3. Move it between its ends and watch both ends of the row of points.",
        "What does the base do to plane 0?",
        ("slower", "faster", "nothing"),
        2,
        "θ[0] is the base to the power 0, which is 1. The slow planes move most.",
        "Point at plane 0 and read θ at each base.",
        {"context": 8192, "base": 5e5, "dim": 128, "plane": 0},
        moves=("base", "plane"),
    ),
    Step(
        "A small head, D = 32: only 16 planes between the same ends, or nearly. Move D and compare.",
        "Is the longest wave as long as with D = 128?",
        ("shorter", "as long", "longer"),
        0,
        "Its exponent ends at −30/32, and not at −126/128: 35,333 tokens, not 54,410.",
        "Read “longest wavelength” at D = 32 and at D = 128.",
        {"context": 4096, "base": 1e4, "dim": 32, "plane": 15},
        moves=("dim",),
    ),
    Step(
        "Now break it: give the widget frequencies with the exponent −i/D in place of −2i/D, or think it through.",
        "Which sign would still be ✓?",
        ("|θ[0] − 1|", "error of the ratio", "the reference"),
        0,
        "Any exponent is 0 at i = 0. Each further plane would turn too fast.",
        "The ratio of two neighbors would be base^(−1/D), and no frequency but the first would fit.",
        {"context": 65536, "base": 1e4, "dim": 64, "plane": 16},
    ),
)
