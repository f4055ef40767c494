import { readFileSync } from 'node:fs';

/** Result of one spec. */
export interface SpecResult {
  readonly group: string;
  /** The spec's texts below the group, joined. */
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  /** Why it failed, or why critest itself skipped it. */
  readonly message: string;
  readonly seconds: number;
  /** How many times it ran. */
  readonly attempts: number;
}

/** The parts of ginkgo's JSON report that we read. */
export interface GinkgoSpec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  readonly RunTime: number;
  readonly NumAttempts?: number;
  readonly Failure?: { readonly Message?: string };
}

/** Reads ginkgo's JSON report: every spec of the suite, including filtered ones. */
export function readSpecReport(path: string): readonly SpecResult[] {
  const [suite]: readonly { readonly SpecReports: readonly GinkgoSpec[] }[] = JSON.parse(readFileSync(path, 'utf8'));
  if (suite === undefined) throw new Error(`no suite in ${path}`);
  return suite.SpecReports.filter(({ LeafNodeType, State }) => LeafNodeType === 'It' || isFailure(State)).map(
    specResult,
  );
}

function specResult(spec: GinkgoSpec): SpecResult {
  const [group = spec.LeafNodeType, ...texts] = spec.ContainerHierarchyTexts ?? [];
  const passed = spec.State === 'passed';
  return {
    group: group.replace('[k8s.io] ', ''),
    name: [...texts, spec.LeafNodeText].join(' '),
    state: passed ? 'passed' : isFailure(spec.State) ? 'failed' : 'skipped',
    message: spec.Failure?.Message ?? '',
    seconds: spec.RunTime / 1e9,
    attempts: spec.NumAttempts ?? 1,
  };
}

/** The report also contains the suite's setup nodes, which matter only if they failed. */
function isFailure(state: string): boolean {
  return !['passed', 'skipped', 'pending'].includes(state);
}
