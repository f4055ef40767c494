import type { GinkgoSpec } from '../critest/spec-report.ts';

/** The result of one spec on one subject. */
export interface SpecResult {
  /** The texts of the spec without labels such as `[NodeConformance]`, joined. */
  readonly name: string;
  /** The whole text of the spec, as ginkgo matches it. */
  readonly text: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  /** Why it failed, or why it skipped itself. */
  readonly message: string;
  readonly seconds: number;
  /** How many times it ran. */
  readonly attempts: number;
}

interface GinkgoSuite {
  readonly SpecReports: readonly GinkgoSpec[] | null;
}

/** The results in ginkgo's JSON report: specs that ran or skipped themselves; no specs that a filter left out. */
export function parseReport(json: string): readonly SpecResult[] {
  const suites: readonly GinkgoSuite[] = JSON.parse(json);
  return suites
    .flatMap(({ SpecReports }) => SpecReports ?? [])
    .filter((spec) => (spec.LeafNodeType === 'It' ? isSelected(spec) : isFailure(spec.State)))
    .map(specResult)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The last result of each spec. A later report is one of specs that ran again. */
export function mergeResults(reports: readonly (readonly SpecResult[])[]): readonly SpecResult[] {
  const last = new Map<string, SpecResult>();
  for (const spec of reports.flat()) {
    const before = last.get(spec.text)?.attempts ?? 0;
    last.set(spec.text, { ...spec, attempts: before + spec.attempts });
  }
  return [...last.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function specResult(spec: GinkgoSpec): SpecResult {
  const texts = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText || `[${spec.LeafNodeType}]`];
  return {
    name: withoutLabels(texts.join(' ')),
    text: texts.join(' '),
    state: spec.State === 'passed' ? 'passed' : isFailure(spec.State) ? 'failed' : 'skipped',
    message: spec.Failure?.Message ?? '',
    seconds: spec.RunTime / 1e9,
    attempts: spec.NumAttempts ?? 1,
  };
}

/** A spec left out by a filter is skipped without a message. */
function isSelected({ State, Failure }: GinkgoSpec): boolean {
  return State !== 'pending' && (State !== 'skipped' || Boolean(Failure?.Message));
}

/** Nodes of the suite's own setup matter only if they failed. */
function isFailure(state: string): boolean {
  return !['passed', 'skipped', 'pending'].includes(state);
}

/** Every selected spec has the first label; the others say which release added it, or where it can run. */
function withoutLabels(name: string): string {
  return name
    .replaceAll(/\[(?:NodeConformance|Conformance|sig-[a-z-]+|LinuxOnly)\]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
