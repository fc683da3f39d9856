"""Three models' loss along texts of four times the trained length, by cure; extra loss of long texts."""

from statistics import fmean


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    (shipped,) = (row for row in data["rows"] if row["model"] == "shipped")
    trained = shipped["trained"]
    tested = trained * data["stretch"]
    along = shipped["along"]
    places = tested // len(along["as trained"])  # per value of a curve, which is their mean

    def dearer(cure):
        """Number of models whose loss on long texts with this cure is over 0.1 above that on trained lengths."""
        return sum(fmean(row["along"][cure]) - row["by_length"][str(trained)] > 0.1 for row in data["rows"])

    models = len(data["rows"])
    found = {
        "breaks": sum(row["by_length"][str(tested)] - row["by_length"][str(trained)] > 0.1 for row in data["rows"]),
        "models": models,
        "tested": tested,
        "trained": trained,
        "trained_end": along["as trained"][trained // places - 1],
        "tuning_steps": data["tuning"],
        "as_trained.end": along["as trained"][-1],
        "as_trained_tuned.end": along["as trained, tuned"][-1],
        "interpolated_tuned.end": along["interpolated, tuned"][-1],
    }
    for path, cure in {
        "ntk_aware_base": "NTK-aware base",
        "window": "window",
        "yarn": "YaRN",
        "interpolated": "interpolated",
    }.items():
        found[f"{path}.end"] = along[cure][-1]
        found[f"{path}.holds"] = models - dearer(cure)
    return found
