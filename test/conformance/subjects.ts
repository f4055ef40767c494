import { mkdirSync, symlinkSync } from 'node:fs';
import { startContainerd } from '../integration/containerd-fixture.ts';
import { startEmbedded, type TestRuntime } from '../integration/runtime-fixture.ts';
import type { NodeSettings } from './run-plan.ts';

/** How the runtime of a subject is set up. */
export interface RuntimeSettings extends Pick<NodeSettings, 'cgroupDriver' | 'nodelet'> {
  /** A directory of hosts.toml files. */
  readonly hosts: string;
}

/** The handler of the specs of RuntimeClass. */
const HANDLER = 'test-handler';

export const SUBJECT_NAMES = ['kubelet-containerd', 'nodelet-containerd', 'nodelet'] as const;
export type SubjectName = (typeof SUBJECT_NAMES)[number];

/** A kubelet program and the runtime below it. */
export interface Subject {
  readonly title: string;
  /** The kubelet program with its first arguments; one of the given ones. */
  command(programs: { readonly kubelet: string; readonly nodelet: string }): readonly string[];
  startRuntime(settings: RuntimeSettings): Promise<TestRuntime>;
}

/** kubelet's cAdvisor asks containerd for the names of containers, at the default socket of this node. */
const containerd = async ({ hosts, cgroupDriver }: RuntimeSettings): Promise<TestRuntime> => {
  const runtime = await startContainerd({ handlers: [HANDLER], hostPorts: true, hosts, cgroupDriver });
  mkdirSync('/run/containerd', { recursive: true });
  symlinkSync(runtime.endpoint.replace('unix://', ''), '/run/containerd/containerd.sock');
  return runtime;
};
const embedded = ({ hosts, cgroupDriver, nodelet }: RuntimeSettings): Promise<TestRuntime> => {
  const flags = ['--registry-config-dir', hosts, '--cgroup-driver', cgroupDriver];
  return startEmbedded({ command: [nodelet], flags, handlers: [HANDLER], hostPorts: true });
};

export const SUBJECTS: Readonly<Record<SubjectName, Subject>> = {
  'kubelet-containerd': {
    title: 'kubelet v1.36.4 + containerd',
    command: ({ kubelet }) => [kubelet],
    startRuntime: containerd,
  },
  'nodelet-containerd': {
    title: 'Nodelet + containerd',
    command: ({ nodelet }) => [nodelet, 'kubelet'],
    startRuntime: containerd,
  },
  nodelet: {
    title: 'Nodelet + its own runtime',
    command: ({ nodelet }) => [nodelet, 'kubelet'],
    startRuntime: embedded,
  },
};

export function isSubjectName(name: string): name is SubjectName {
  return SUBJECT_NAMES.some((known) => known === name);
}
