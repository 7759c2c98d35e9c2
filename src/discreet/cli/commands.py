"""The commands and their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import _version
from discreet.cli import serve as serving
from discreet.cli.arguments import (
    NUMBER,
    Address,
    Alpha,
    Arms,
    ArmTexts,
    Beta,
    Checkpoints,
    CsvFile,
    EngineName,
    Epsilon,
    High,
    Horizon,
    InstanceName,
    Json,
    Low,
    OptionTexts,
    OutputFile,
    PolicyName,
    PolicyNames,
    Radius,
    Runs,
    Seed,
    Workers,
    read_entry,
    read_options,
    real,
    whole,
)
from discreet.cli.audit import (
    ERROR,
    SECONDS,
    AlgorithmNames,
    Claim,
    Error,
    Module,
    Samples,
    Seconds,
    audit_algorithms,
    load_module,
)
from discreet.cli.console import check_writable, counted, show, show_json
from discreet.cli.console import output as console
from discreet.cli.reproduction import reproduce as run_reproduction
from discreet.cli.simulation import choose_engine, problem, run_settings
from discreet.cli.stop import (
    RULE,
    Clip,
    ColumnName,
    Header,
    MaxSamples,
    RuleEpsilon,
    RuleName,
    Source,
    build_rule,
    report,
    run_rule,
)
from discreet.cli.tables import algorithms, algorithms_table, arms_table, league_table, summary_table
from discreet.cli.theory import (
    Gap,
    Mean,
    NumberOfArms,
    Pulls,
    bounds_data,
    choose_plan,
    plan_data,
    regret_bounds,
    sample_range,
    show_bounds,
    show_kinds,
    show_plan,
    stopping_bounds,
)
from discreet.core.errors import ArgumentError
from discreet.lab import instances
from discreet.lab.engines import make_engine
from discreet.lab.results import Results
from discreet.lab.setting import HORIZON, RUNS, SEED, Setting
from discreet.lab.simulate import LEAGUE
from discreet.lab.simulate import league as league_settings
from discreet.reproduction.reproduce import Reproduction

FOLDER = Path("reproduction")
PICTURES = (".png", ".pdf", ".svg")

app = typer.Typer(
    name="discreet",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\n\n".join(["Examples:", *lines])


def print_version(wanted: bool) -> None:
    """What `--version` does."""
    if wanted:
        show(f"discreet {_version.__version__}")
        raise typer.Exit


@app.callback(
    epilog="`stop` and `audit` use real noise. All simulations use seeded noise: what they print is not private."
)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Private sequential decisions: bandits and stopping rules under pure differential privacy."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(
    epilog=examples(
        "discreet simulate dp-se --instance C2 --arms 5 --epsilon 0.25 --horizon 5e7 --runs 30 --seed 7",
        "discreet simulate dp-ucb --epsilon 1 -O preset=thesis --output thesis.npz",
        'discreet simulate se --arm 0.3 --arm "beta(2,5)" --arm "csv(clicks.csv,rate)" --horizon 1e6 --json',
    )
)
def simulate(
    policy: PolicyName,
    *,
    instance: InstanceName = None,
    arms: Arms = None,
    arm: ArmTexts = None,
    epsilon: Epsilon = None,
    option: OptionTexts = None,
    horizon: Horizon = HORIZON,
    runs: Runs = RUNS,
    seed: Seed = SEED,
    checkpoint: Checkpoints = None,
    json: Json = False,
    output: OutputFile = None,
    csv: CsvFile = None,
    engine: EngineName = None,
    workers: Workers = None,
    address: Address = None,
) -> None:
    """Simulate a policy on an instance and summarise its regret."""
    common = problem(instance, arm, arms, horizon=horizon, runs=runs, seed=seed, checkpoints=checkpoint)
    settings = [Setting.of(policy, **common, **read_options(option or (), epsilon))]
    where = choose_engine(settings, engine, workers, address)
    (result,) = run_settings(settings, where, output=output, csv=csv, quiet=json)
    if json:
        show_json(result.to_dict())
        return
    summary, pulls = summary_table(result), arms_table(result)
    how = "by a compiled kernel" if result.method == "kernel" else "as the policy object"
    show(result.setting.label, "bold")
    show(f"{counted(runs, 'run')} on simulated noise, seed {seed}, played {how}")
    show("")
    console().print(summary)
    show("")
    console().print(pulls)
    tell_meaning()
    tell_files(output, csv)


@app.command(
    epilog=examples(
        "discreet compare --instance C2 --epsilon 0.25",
        "discreet compare dp-se dp-ucb dp-ucb:preset=thesis --epsilon 0.5",
        "discreet compare dp-se dp-ucb dp-se-svt --arms 10 --epsilon 1 --horizon 1e6 --output league.npz",
    )
)
def compare(
    policies: PolicyNames = None,
    *,
    instance: InstanceName = None,
    arms: Arms = None,
    arm: ArmTexts = None,
    epsilon: Epsilon = None,
    option: OptionTexts = None,
    horizon: Horizon = HORIZON,
    runs: Runs = RUNS,
    seed: Seed = SEED,
    checkpoint: Checkpoints = None,
    json: Json = False,
    output: OutputFile = None,
    csv: CsvFile = None,
    engine: EngineName = None,
    workers: Workers = None,
    address: Address = None,
) -> None:
    """Compare policies on one instance, the best first. An option goes to each policy that has it."""
    common = problem(instance, arm, arms, horizon=horizon, runs=runs, seed=seed, checkpoints=checkpoint)
    entries = [read_entry(text) for text in policies or LEAGUE]
    settings = league_settings(entries, read_options(option or (), epsilon), common)
    where = choose_engine(settings, engine, workers, address)
    results = run_settings(settings, where, output=output, csv=csv, quiet=json)
    if json:
        show_json([one.to_dict() for one in results])
        return
    table, on = league_table(results), settings[0].instance
    show(f"{on.name}, K = {len(on)}, T = {settings[0].horizon}", "bold")
    show(f"{counted(runs, 'run')} of each policy on simulated noise, seed {seed}")
    show("")
    console().print(table)
    tell_meaning()
    tell_files(output, csv)


def tell_meaning() -> None:
    """What the columns are."""
    show("")
    show("Pseudo-regret at the end; a run has failed when a worse arm was pulled most.", "dim")


def tell_files(*paths: Path | None) -> None:
    """Where things were saved."""
    for path in filter(None, paths):
        show(f"saved {path}")


@app.command(
    epilog=examples(
        "discreet reproduce", "discreet reproduce --quick --output quick", "discreet reproduce --all --runs 100"
    )
)
def reproduce(
    *,
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where the report and the data go.")] = FOLDER,
    everything: Annotated[
        bool, typer.Option("--all", help="Go beyond the paper: every policy and rule against its lower bound.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs, and five arms only.")] = False,
    runs: Annotated[
        int | None,
        typer.Option(
            parser=whole, metavar="NUMBER", help="Runs of each setting of the bandits.", show_default="30, quick 3"
        ),
    ] = None,
    horizon: Horizon = HORIZON,
    seed: Seed = SEED,
    json: Json = False,
    engine: EngineName = None,
    workers: Workers = None,
    address: Address = None,
) -> None:
    """Repeat the paper's evaluation, and write a report with its figures.

    After Ctrl-C the same command goes on where it was: finished settings are kept in the folder.
    """
    wanted = Reproduction.of(everything=everything, quick=quick, horizon=horizon, seed=seed, runs=runs)
    run_reproduction(wanted, make_engine(engine or "processes", workers, address), output, json=json)


@app.command(
    epilog=examples(
        "discreet stop clicks.csv --column clicked --epsilon 1 --alpha 0.1 --beta 0.05 --low 0 --high 1",
        "shuf incomes.txt | discreet stop - --epsilon 0.5 --alpha 0.2 --beta 0.01 --low 0 --high 2e5 --clip --json",
    )
)
def stop(
    file: Source,
    *,
    rule: RuleName = RULE,
    epsilon: RuleEpsilon = None,
    alpha: Alpha,
    beta: Beta,
    low: Low = None,
    high: High = None,
    radius: Radius = None,
    column: ColumnName = None,
    header: Header = None,
    max_samples: MaxSamples = None,
    clip: Clip = False,
    json: Json = False,
) -> None:
    """Give the private mean of a file or a pipe, reading only as much as that takes. The noise is real.

    The range (--low and --high, or --radius) must be known without looking at the data: one taken from them leaks.

    The rows must come in random order. A sorted file breaks the promise of accuracy, though not the privacy.

    A sample is one value of one person (event level). A person with m rows is covered with m times epsilon.

    The exit code is 3, and no mean is printed, when the data end (or --max-samples is reached) too early.
    """
    options = {"alpha": alpha, "beta": beta, "low": low, "high": high, "radius": radius}
    chosen = build_rule(rule, epsilon, **options, max_samples=max_samples, clip=clip)
    report(chosen, run_rule(chosen, file, column, header=header), json=json)


@app.command(
    epilog=examples(
        "discreet plan --arms 4 --epsilon 0.5 --gap 0.05 --beta 0.05",
        "discreet plan --arms 4 --epsilon 0.5 --pulls 1e6 --json",
    )
)
def plan(
    *,
    arms: NumberOfArms,
    epsilon: Annotated[float, typer.Option(parser=real, metavar=NUMBER, help="The privacy parameter.")],
    gap: Gap = None,
    pulls: Pulls = None,
    beta: Beta = 0.05,
    json: Json = False,
) -> None:
    """Say how many pulls DP-SE needs to find the best arm, epoch by epoch, in the worst case.

    Give the smallest gap between the best arm and any other that must be told (--gap), or how many pulls there are.
    """
    chosen = choose_plan(arms, epsilon, gap, pulls, beta)
    if json:
        show_json(plan_data(chosen))
    else:
        show_plan(chosen)


@app.command(
    epilog=examples(
        "discreet bounds --instance C2 --epsilon 0.25 --horizon 5e7",
        "discreet bounds --mean 0.1 --alpha 0.1 --beta 0.05 --epsilon 0.5",
        "discreet bounds --mean 0.1 --alpha 0.1 --radius 1 --epsilon 0.5 --json",
    )
)
def bounds(
    *,
    epsilon: Annotated[float, typer.Option(parser=real, metavar=NUMBER, help="The privacy parameter.")] = 1.0,
    instance: InstanceName = None,
    arms: Arms = None,
    arm: ArmTexts = None,
    horizon: Annotated[
        int | None, typer.Option(parser=whole, metavar=NUMBER, help="Pulls in a run.", show_default="5e7")
    ] = None,
    mean: Mean = None,
    alpha: Alpha = 0.1,
    beta: Beta = 0.05,
    low: Low = None,
    high: High = None,
    radius: Radius = None,
    json: Json = False,
) -> None:
    """Say what is possible: bounds on a bandit's regret, and with --mean on the samples of a stopping rule.

    The samples lie in [0, 1], unless --low and --high or --radius say otherwise.
    """
    sections = []
    if mean is None or any(given is not None for given in (instance, arms, arm, horizon)):
        common = problem(instance, arm, arms, horizon=horizon or HORIZON, runs=1, seed=SEED, checkpoints=None)
        on = instances.instance(common["instance"], common["arms"])
        sections.append(regret_bounds(on, common["horizon"], epsilon))
    if mean is not None:
        ends = sample_range(low, high, radius)
        sections.append(stopping_bounds(mean, alpha, beta, epsilon, ends=ends))
    if json:
        show_json({section.name: bounds_data(section) for section in sections})
        return
    for section in sections:
        show_bounds(section)
    show_kinds(sections)


@app.command(
    epilog=examples(
        "discreet audit",
        "discreet audit dp-se above-threshold --seconds 60",
        "discreet audit my-policy --module my_policies -O n=50 --json",
    )
)
def audit(
    algorithms: AlgorithmNames = None,
    *,
    epsilon: Claim = 1.0,
    option: OptionTexts = None,
    seconds: Seconds = SECONDS,
    samples: Samples = None,
    error: Error = ERROR,
    module: Module = None,
    json: Json = False,
) -> None:
    """Try to refute the privacy of every algorithm here, or of one of your own, by running it many times.

    The real objects run on real noise, on inputs that differ in one reward:
    by totals, as a stream, by ask and tell, and across a saved state. From
    how often an event happens on either input follows a lower bound on
    epsilon, which must not exceed what is claimed. All of it takes about two
    and a half minutes.

    A private algorithm is accused by chance once in a million audits. The
    exit code is 1 if there is a violation, and 2 if something is asked wrongly.
    """
    load_module(module)
    options = read_options(option or (), None, simulated=False)
    audit_algorithms(
        algorithms or (), json=json, epsilon=epsilon, seconds=seconds, samples=samples, error=error, options=options
    )


@app.command(
    "serve",
    epilog=examples(
        "discreet serve",
        "discreet serve --database postgresql://discreet@localhost/discreet --workers 4",
        "discreet serve --restored",
    ),
)
def serve_experiments(
    database: serving.Database = "discreet.db",
    *,
    host: serving.Host = "127.0.0.1",
    port: serving.Port = 8477,
    workers: serving.Workers = 1,
    journal: serving.JournalFile = None,
    restored: serving.Restored = False,
    tick: serving.Tick = 1.0,
    secure: serving.Secure = False,
    origins: serving.Origins = None,
) -> None:
    """Run private experiments for a team: an HTTP API and a dashboard on a database.

    With nothing else installed, everything is in one SQLite file. On the first start an admin key is printed, once.
    """
    where = {"database": database, "host": host, "port": port, "workers": workers}
    how = {"journal": journal, "tick": tick, "secure": secure, "origins": tuple(origins or ())}
    serving.start(restored=restored, **where, **how)


@app.command()
def policies(json: Json = False) -> None:
    """List every policy and stopping rule with its options."""
    rows = algorithms()
    if json:
        show_json(rows)
        return
    for kind, title in (("policy", "Policies"), ("stopping rule", "Stopping rules (for `discreet stop`)")):
        console().print(algorithms_table([row for row in rows if row["kind"] == kind], title))
        show("")


@app.command(
    epilog=examples(
        "discreet compare --epsilon 0.25 --output league.npz", "discreet plot league.npz --log -o league.pdf"
    )
)
def plot(
    file: Annotated[Path, typer.Argument(metavar="FILE.npz", help="What --output of simulate or compare wrote.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .png, .pdf or .svg.", show_default="FILE.png"),
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Logarithmic axes.")] = False,
) -> None:
    """Draw the regret curves of a results file: means, with bands from the 5 % to the 95 % quantile."""
    target = output or file.with_suffix(".png")
    if target.suffix.lower() not in PICTURES:
        raise ArgumentError(f"output must end in {', '.join(PICTURES)}, got {str(target)!r}")
    results = Results.load(file)
    check_writable(target)
    from discreet.lab.figures import DPI  # noqa: PLC0415  (matplotlib)

    figure: Any = results.plot(log=log).figure
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=DPI)
    show(str(target))
