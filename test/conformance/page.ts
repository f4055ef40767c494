import { countStates, differences, type SubjectResults } from './comparison.ts';
import type { SpecResult } from './spec-report.ts';

/** How one subject ran. */
export interface RunRecord {
  readonly seconds: number;
  readonly procs: number;
  readonly attempts: number;
  readonly cores: number;
  /** The commit of this repository. */
  readonly nodelet: string;
  readonly date: string;
}

export interface RunOfSubject extends SubjectResults {
  readonly record: RunRecord;
  /** How many times the specs that had failed ran again afterwards. */
  readonly reruns: number;
}

/** Why specs do not pass, by a regular expression of their names. */
export interface KnownReason {
  readonly spec: RegExp;
  readonly reason: string;
}

export interface PageInput {
  readonly reference: RunOfSubject;
  readonly subjects: readonly RunOfSubject[];
  readonly machine: string;
  readonly reasons: readonly KnownReason[];
  /** Why specs do not pass on the reference either. */
  readonly machineReasons: readonly KnownReason[];
}

/** The text of docs/conformance.md. */
export function renderPage({ reference, subjects, machine, reasons, machineReasons }: PageInput): string {
  const runs = [reference, ...subjects];
  return [
    INTRODUCTION,
    `## Machine\n\n${machine}\n\n${settings(reference.record)}`,
    `## Figures\n\n${figures(runs)}`,
    ...subjects.map((subject) => differencesSection(reference, subject, reasons)),
    failuresOfReference(reference, subjects, machineReasons),
    skipsSection(runs),
  ]
    .join('\n\n')
    .concat('\n');
}

const INTRODUCTION = `# Node conformance

Kubernetes' node conformance tests ([NodeConformance] of \`k8s.io/kubernetes/test/e2e_node\`, v1.36.4) against kubelet and against Nodelet. This
page is written by \`make conformance\` out of ginkgo's reports; nothing in it is typed by hand but the reasons.

\`\`\`
make conformance                                                  # all three subjects, then this page
make conformance ARGS="--subject nodelet --focus 'ConfigMap'"     # one subject, some specs
make conformance ARGS="--page"                                    # this page anew, out of the last reports
\`\`\`

The programs (\`e2e_node.test\`, \`ginkgo\`, \`agnhost\`, \`kubelet\`) are built from the published Go modules. The images are made
of Debian's programs under the names of the published ones and come from a local registry. Each subject runs in a node of
its own inside the machine: own processes, mounts, network and cgroups (\`test/conformance/enter-node.sh\`). Selected are the
specs with the label NodeConformance and without Serial, Slow and Flaky. \`make test\` runs thirteen groups of them on Nodelet
with its own runtime (\`test/conformance/groups.ts\`).`;

function settings({ procs, attempts, cores }: RunRecord): string {
  return `${procs} specs at a time on ${cores} cores; a spec that fails runs again, ${attempts} times in all, the same for every
subject. Specs that failed nevertheless ran again as often as the column of runs says (\`--failed\`). Minutes are those of the
first run, and depend on what else the machine does.`;
}

function figures(runs: readonly RunOfSubject[]): string {
  const rows = runs.map(({ title, specs, record, reruns }) => {
    const { passed, failed, skipped, atFurtherAttempt } = countStates(specs);
    const minutes = Math.round(record.seconds / 60);
    return [
      title,
      passed,
      atFurtherAttempt,
      failed,
      skipped,
      reruns,
      minutes,
      record.date.slice(0, 10),
      record.nodelet,
    ];
  });
  return table(
    [
      'subject',
      'passed',
      'of these at a further attempt',
      'failed',
      'skipped',
      'runs of failed specs',
      'minutes',
      'date',
      'commit',
    ],
    rows,
  );
}

function differencesSection(
  reference: SubjectResults,
  { title, specs }: SubjectResults,
  reasons: readonly KnownReason[],
): string {
  const found = differences(reference.specs, specs);
  const heading = `## What kubelet passes and ${title} does not: ${found.length}`;
  if (found.length === 0) return heading;
  const rows = found.map((difference) => [difference.name, difference.state, reasonOf(difference, reasons)]);
  return `${heading}\n\n${table(['spec', 'state', 'reason'], rows)}`;
}

function reasonOf({ name, message }: Pick<SpecResult, 'name' | 'message'>, reasons: readonly KnownReason[]): string {
  return reasons.find(({ spec }) => spec.test(name))?.reason ?? `not known; it says: ${shortened(message)}`;
}

function failuresOfReference(
  reference: SubjectResults,
  others: readonly SubjectResults[],
  reasons: readonly KnownReason[],
): string {
  const failed = reference.specs.filter(({ state }) => state === 'failed');
  const heading = `## What kubelet itself does not pass here: ${failed.length}`;
  if (failed.length === 0) return heading;
  const stateOn = (run: SubjectResults, name: string): string =>
    run.specs.find((spec) => spec.name === name)?.state ?? 'missing';
  const rows = failed.map((spec) => [
    spec.name,
    ...others.map((run) => stateOn(run, spec.name)),
    reasonOf(spec, reasons),
  ]);
  return `${heading}\n\n${table(['spec', ...others.map(({ title }) => title), 'reason'], rows)}`;
}

function skipsSection(runs: readonly SubjectResults[]): string {
  const skipped = runs.map(({ specs }) => specs.filter(({ state }) => state === 'skipped'));
  const reasons = [...new Set(skipped.flat().map(skipReason))].sort((a, b) => (a < b ? -1 : 1));
  const rows = reasons.map((reason) => [
    reason,
    ...skipped.map((specs) => specs.filter((spec) => skipReason(spec) === reason).length),
  ]);
  return `## Skipped, by the reason that the spec gives\n\n${table(['reason', ...runs.map(({ title }) => title)], rows)}`;
}

function skipReason({ message }: SpecResult): string {
  return shortened(message);
}

function shortened(message: string): string {
  const line = message.split('\n', 1)[0]?.trim() ?? '';
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

/** With padded columns, as the formatter of this repository writes them. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((value) => String(value).replaceAll('|', '\\|')));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [first = [], ...others] = cells;
  return [line(first), line(widths.map((width) => '-'.repeat(width))), ...others.map(line)].join('\n');
}
