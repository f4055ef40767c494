import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterTool } from '../integration/cluster-tools.ts';
import { GINKGO_SKIPS } from './expected-skips.ts';
import { readSpecReport } from './spec-report.ts';
import type { RunResult } from './summary.ts';

/** A run of the specs whose text (group and name) starts with `focus`, with additional flags. */
export interface CritestRun {
  readonly name: string;
  readonly focus: string;
  readonly flags?: readonly string[];
}

const WEB_SOCKET = ['--websocket-exec', '--websocket-attach', '--websocket-portforward'];
/** critest skips its benchmarks without these parameters. */
const BENCHMARKS = {
  containersNumber: 3,
  podsNumber: 3,
  imagesNumber: 3,
  imagePullingBenchmarkImage: 'gcr.io/k8s-staging-cri-tools/test-image-1:latest',
  imageListingBenchmarkImages: [1, 2, 3].map((number) => `gcr.io/k8s-staging-cri-tools/test-image-${number}:latest`),
} as const;

/** Stages of lanes of runs. */
export type Stages = readonly (readonly (readonly CritestRun[])[])[];

/**
 * Stages run in sequence, and so do the runs of a lane. The lanes of a stage run concurrently, because the suite mostly
 * waits. Image specs and benchmarks run alone: the former remove images, the latter measure time.
 */
export const STAGES: Stages = [
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

/** The runtime under test. */
export interface CritestTarget {
  readonly endpoint: string;
  /** Empty: the default of the runtime. */
  readonly handler: string;
  /** Runs of a spec until it counts as failed. */
  readonly attempts: number;
}

/** Runs the specs against a runtime. Writes the log and ginkgo's report to `logs`. */
export async function runCritest(
  run: CritestRun,
  { endpoint, handler, attempts }: CritestTarget,
  logs: string,
): Promise<RunResult> {
  const { name, focus, flags = [] } = run;
  const [report, numbers] = [join(logs, `${name}.json`), join(logs, 'benchmarks.yaml')];
  writeFileSync(numbers, JSON.stringify(BENCHMARKS));
  const filters = [`--ginkgo.focus=\\[k8s.io\\] ${focus}`, ...GINKGO_SKIPS.map((spec) => `--ginkgo.skip=${spec}`)];
  const output = [
    '--ginkgo.no-color',
    `--ginkgo.flake-attempts=${attempts}`,
    `--ginkgo.json-report=${report}`,
    `--benchmarking-params-file=${numbers}`,
  ];
  const target = [`--runtime-endpoint=${endpoint}`, `--image-endpoint=${endpoint}`, `--runtime-handler=${handler}`];
  const log = openSync(join(logs, `${name}.log`), 'w');
  // critest is terminated when this process exits for any reason.
  const program = ['--pdeathsig', 'TERM', clusterTool('critest'), ...target, ...flags, ...filters, ...output];
  const env = { ...process.env, TMPDIR: logs }; // critest leaves directories behind
  const child = spawn('setpriv', program, { stdio: ['ignore', log, log], env });
  closeSync(log);
  await once(child, 'exit');
  const isBenchmark = (text: string): boolean => text.includes('benchmark');
  const isOwn = (text: string): boolean =>
    new RegExp(`^${focus}`).test(text) && isBenchmark(text) === isBenchmark(focus);
  return { name, specs: readSpecReport(report).filter((spec) => isOwn(`${spec.group} ${spec.name}`)) };
}
