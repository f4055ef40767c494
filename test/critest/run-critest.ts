import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterTool } from '../integration/cluster-tools.ts';
import { LEFT_OUT } from './expected-skips.ts';
import { readSpecReport } from './spec-report.ts';
import type { RunResult } from './summary.ts';

/** The specs whose text, which starts with their group, begins as `focus` says; with flags of their own. */
export interface CritestRun {
  readonly name: string;
  readonly focus: string;
  readonly flags?: readonly string[];
}

const WEB_SOCKET = ['--websocket-exec', '--websocket-attach', '--websocket-portforward'];
/** Without numbers critest's benchmarks leave themselves out. */
const BENCHMARKS = {
  containersNumber: 3,
  podsNumber: 3,
  imagesNumber: 3,
  imagePullingBenchmarkImage: 'gcr.io/k8s-staging-cri-tools/test-image-1:latest',
  imageListingBenchmarkImages: [1, 2, 3].map((number) => `gcr.io/k8s-staging-cri-tools/test-image-${number}:latest`),
} as const;

/**
 * The stages follow each other, and so do the runs of a lane; the lanes of a stage run at once, for most of the suite's
 * time is waiting. Image specs and benchmarks want to be alone: those take images away, these take the time.
 */
export const STAGES: readonly (readonly (readonly CritestRun[])[])[] = [
  [
    [{ name: 'security', focus: 'Security Context' }],
    [
      {
        name: 'containers',
        focus: '(?:Container|PodSandbox|Networking|Multiple|AppArmor|SELinux|Idempotence|Runtime)',
      },
    ],
    [
      { name: 'streaming', focus: 'Streaming' },
      { name: 'streaming-websocket', focus: 'Streaming', flags: WEB_SOCKET },
    ],
  ],
  [[{ name: 'images', focus: 'Image ' }]],
  [[{ name: 'benchmarks', focus: '.*benchmark', flags: ['--benchmark'] }]],
];

/** What critest runs against. */
export interface CritestTarget {
  readonly endpoint: string;
  /** Empty: the default of the runtime. */
  readonly handler: string;
}

/** Runs the specs against a runtime; the log and ginkgo's report go to a folder. */
export async function runCritest(
  run: CritestRun,
  { endpoint, handler }: CritestTarget,
  logs: string,
): Promise<RunResult> {
  const { name, focus, flags = [] } = run;
  const [report, numbers] = [join(logs, `${name}.json`), join(logs, 'benchmarks.yaml')];
  writeFileSync(numbers, JSON.stringify(BENCHMARKS));
  const filters = [`--ginkgo.focus=\\[k8s.io\\] ${focus}`, ...LEFT_OUT.map((spec) => `--ginkgo.skip=${spec}`)];
  const output = ['--ginkgo.no-color', `--ginkgo.json-report=${report}`, `--benchmarking-params-file=${numbers}`];
  const target = [`--runtime-endpoint=${endpoint}`, `--image-endpoint=${endpoint}`, `--runtime-handler=${handler}`];
  const log = openSync(join(logs, `${name}.log`), 'w');
  // It goes when this process goes, however that ends.
  const program = ['--pdeathsig', 'TERM', clusterTool('critest'), ...target, ...flags, ...filters, ...output];
  const env = { ...process.env, TMPDIR: logs }; // it leaves folders behind
  const child = spawn('setpriv', program, { stdio: ['ignore', log, log], env });
  closeSync(log);
  await once(child, 'exit');
  const isBenchmark = (text: string): boolean => text.includes('benchmark');
  const isOwn = (text: string): boolean =>
    new RegExp(`^${focus}`).test(text) && isBenchmark(text) === isBenchmark(focus);
  return { name, specs: readSpecReport(report).filter((spec) => isOwn(`${spec.group} ${spec.name}`)) };
}
