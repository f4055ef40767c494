import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newNodeFootprint, removeNode } from '../conformance/node-cleanup.ts';
import { clusterSkipReason } from '../integration/cluster-fixture.ts';
import { clusterToolsSkipReason } from '../integration/cluster-tools.ts';
import { embeddedSkipReason } from '../integration/runtime-fixture.ts';
import { type Step, type Transcript, transcriptFile } from './transcript.ts';

const ENTER = join(import.meta.dirname, '../conformance/enter-node.sh');
const PLACES = join(import.meta.dirname, 'node-places.sh');
const PROGRAM = [join(import.meta.dirname, '../../scripts/node'), join(import.meta.dirname, 'run-in-node.ts')];

/** The `{ skip }` reason of a test when it cannot run here, else `false`. */
export function kubeadmSkipReason(): string | false {
  if (!existsSync('/sys/fs/cgroup/memory/tasks'))
    return 'needs cgroup v1: a node of its own is made of its hierarchies';
  const tools = clusterToolsSkipReason('kubeadm', 'kube-controller-manager', 'crictl');
  return tools || clusterSkipReason() || embeddedSkipReason();
}

/** Runs kubeadm with Nodelet in a node of its own inside this machine; nothing is left of it. */
export async function runKubeadm(name: 'init' | 'join'): Promise<Transcript> {
  const footprint = newNodeFootprint();
  const { folder, cgroup } = footprint;
  const env = { ...process.env, TMPDIR: join(folder, 't') };
  mkdirSync(env.TMPDIR, { recursive: true });
  const node = ['--pdeathsig', 'KILL', ENTER, cgroup, folder, PLACES, folder, ...PROGRAM, name, folder];
  try {
    const child = spawn('setpriv', node, { stdio: ['ignore', 'inherit', 'inherit'], env });
    await once(child, 'exit');
    return JSON.parse(readFileSync(transcriptFile(folder), 'utf8'));
  } finally {
    removeNode(footprint);
  }
}

/** A step that succeeded; the failure of the run otherwise. */
export function stepOf({ steps, failure }: Transcript, name: string): Step {
  const step = steps.find((each) => each.name === name);
  if (step?.exitCode !== 0) throw new Error(failure ?? `there is no step ${name}`);
  return step;
}

/** The first sentences of the checks that kubeadm found unmet: `WARNING Swap: swap is supported`. */
export function foundChecks(output: string): readonly string[] {
  const found = output.matchAll(/\[(WARNING|ERROR) ([\w-]+)\]: (.*?\.(?= )|.*)/g);
  return [...found].map(([, kind, name, message]) => `${kind} ${name}: ${message}`);
}

/** The check that machines with cgroup v1 do not pass. */
export const CGROUP_CHECKS: readonly string[] = existsSync('/sys/fs/cgroup/cgroup.controllers')
  ? []
  : ['WARNING SystemVerification: cgroups v1 support is deprecated and will be removed in a future release.'];
