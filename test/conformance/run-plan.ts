import type { CgroupDriver } from '../../src/host/cgroups.ts';
import type { SubjectName } from './subjects.ts';

/** One run of the node conformance tests. */
export interface RunPlan {
  readonly subject: SubjectName;
  /** Scratch directory of the node. */
  readonly folder: string;
  /** Where ginkgo's report and the logs go. */
  readonly reports: string;
  /** A regular expression of the specs to run; empty: all of them. */
  readonly focus: string;
  /** Processes that run specs in parallel. */
  readonly procs: number;
  /** Runs of a spec that fails before it counts as failed. */
  readonly attempts: number;
  /** Of the whole run: `45m`. */
  readonly timeout: string;
  /** Its report: `report-1.json`. */
  readonly report: string;
  readonly node: NodeSettings;
}

/** The node that the tests run on. */
export interface NodeSettings {
  /** Of its network device. */
  readonly address: string;
  readonly cgroupDriver: CgroupDriver;
  /** The program `nodelet`. */
  readonly nodelet: string;
  /** The address of a registry that has the images; absent: one is started and filled. */
  readonly registry?: string;
  /** Repositories whose images are pulled before the specs, which have fixed time limits: for a slow machine. */
  readonly pullsFirst: readonly string[];
  /**
   * How long kubelet waits before it starts. On a slow machine the suite's API server is busy after its start, and the node must
   * be ready two minutes after kubelet answers.
   */
  readonly settleSeconds: number;
}

/** NodeConformance without the specs that must run alone, take long or are unreliable. */
export const LABELS = 'NodeConformance && !Serial && !Slow && !Flaky';

/** Reports of a subject, in its directory: the first run, then runs of the specs that had failed. */
const REPORT = /^report-(\d+)\.json$/;

export function ginkgoFlags({ focus, procs, attempts, timeout, reports, report }: RunPlan): readonly string[] {
  return [
    `--label-filter=${LABELS}`,
    ...(focus ? [`--focus=${focus}`] : []),
    `--procs=${procs}`,
    `--flake-attempts=${attempts}`,
    `--timeout=${timeout}`,
    '--no-color',
    '--silence-skips',
    `--output-dir=${reports}`,
    `--json-report=${report}`,
  ];
}

/** The reports among the files of a subject's directory, first one first. */
export function reportFiles(names: readonly string[]): readonly string[] {
  const numbers = names.flatMap((name) => REPORT.exec(name)?.[1] ?? []).map(Number);
  return numbers.sort((a, b) => a - b).map(reportFile);
}

export function reportFile(number: number): string {
  return `report-${number}.json`;
}

/** A regular expression of these specs. ginkgo matches it with the name of the suite before the text of a spec. */
export function focusOn(texts: readonly string[]): string {
  return texts.map((text) => `Suite ${text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`).join('|');
}
