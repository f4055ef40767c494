import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { startContainerd } from '../integration/containerd-fixture.ts';
import { startEmbedded, type TestRuntime } from '../integration/runtime-fixture.ts';

/** The handler of the specs of RuntimeClass. */
const HANDLER = 'test-handler';
const NODELET = join(import.meta.dirname, '../../bin/nodelet');

export const SUBJECT_NAMES = ['kubelet-containerd', 'nodelet-containerd', 'nodelet'] as const;
export type SubjectName = (typeof SUBJECT_NAMES)[number];

/** A kubelet program and the runtime below it. */
export interface Subject {
  readonly title: string;
  /** The kubelet program with its first arguments. `kubelet` is the path of Kubernetes' own one. */
  command(kubelet: string): readonly string[];
  /** `hosts` is a directory of hosts.toml files. */
  startRuntime(hosts: string): Promise<TestRuntime>;
}

/** kubelet's cAdvisor asks containerd for the names of containers, at the default socket of this node. */
const containerd = async (hosts: string): Promise<TestRuntime> => {
  const runtime = await startContainerd({ handlers: [HANDLER], hostPorts: true, hosts });
  mkdirSync('/run/containerd', { recursive: true });
  symlinkSync(runtime.endpoint.replace('unix://', ''), '/run/containerd/containerd.sock');
  return runtime;
};
const embedded = (hosts: string): Promise<TestRuntime> =>
  startEmbedded({ flags: ['--registry-config-dir', hosts], handlers: [HANDLER], hostPorts: true });

export const SUBJECTS: Readonly<Record<SubjectName, Subject>> = {
  'kubelet-containerd': {
    title: 'kubelet v1.36.4 + containerd',
    command: (kubelet) => [kubelet],
    startRuntime: containerd,
  },
  'nodelet-containerd': {
    title: 'Nodelet + containerd',
    command: () => [NODELET, 'kubelet'],
    startRuntime: containerd,
  },
  nodelet: {
    title: 'Nodelet + its own runtime',
    command: () => [NODELET, 'kubelet'],
    startRuntime: embedded,
  },
};

export function isSubjectName(name: string): name is SubjectName {
  return SUBJECT_NAMES.some((known) => known === name);
}
