import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type ControlPlane, startControlPlane } from './cluster-fixture.ts';
import { type GoKubelet, goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import {
  type EmbeddedOptions,
  type EmbeddedTestRuntime,
  embeddedSkipReason,
  startEmbedded,
} from './runtime-fixture.ts';

const WAIT = '--timeout=60s';

/** What differs in a pod whose only container sleeps in busybox. */
export interface PodChange {
  readonly container?: object;
  readonly pod?: object;
}

/** A cluster of one node: Kubernetes' own kubelet on `nodelet cri`. */
export interface KubeletNode {
  readonly name: string;
  readonly plane: ControlPlane;
  readonly runtime: EmbeddedTestRuntime;
  readonly kubelet: GoKubelet;
  /** Asks for pods by their names; kubelet starts them side by side. */
  create(pods: Readonly<Record<string, PodChange>>): Promise<void>;
  /** Resolves when a pod is ready. */
  ready(pod: string): Promise<void>;
  /** Resolves when a field of a pod has that value: `.status.phase`. */
  became(pod: string, path: string, value: string): Promise<void>;
  field(pod: string, path: string): Promise<string>;
  /** What a line of shell says in a pod that is ready; it must succeed. */
  ask(pod: string, line: string): Promise<string>;
  deletePods(): Promise<void>;
  stop(): Promise<void>;
}

/** Why this machine cannot have it, for `{ skip }` of a test; `false` when it can. */
export function kubeletNodeSkipReason(): string | false {
  return goKubeletSkipReason() || embeddedSkipReason();
}

export async function startKubeletNode(options: EmbeddedOptions = {}): Promise<KubeletNode> {
  const name = 'node-1';
  const [plane, runtime] = await Promise.all([startControlPlane(), startEmbedded(options)]);
  const { endpoint, cgroupParent } = runtime;
  const kubelet = await startGoKubelet({ plane, nodeName: name, endpoint, cgroupParent }).catch(
    async (error: unknown) => {
      await runtime.stop();
      await plane.stop();
      throw error;
    },
  );
  const { kubectl } = plane;
  const ready = async (pod: string): Promise<void> => {
    await kubectl('wait', `pod/${pod}`, '--for=condition=Ready', WAIT);
  };
  const deletePods = async (): Promise<void> => {
    await kubectl('delete', 'pods', '--all', WAIT);
  };
  return {
    name,
    plane,
    runtime,
    kubelet,
    create: (pods) => plane.apply(...Object.entries(pods).map(([pod, change]) => manifest(name, pod, change))),
    ready,
    async became(pod, path, value) {
      await kubectl('wait', `pod/${pod}`, `--for=jsonpath={${path}}=${value}`, WAIT);
    },
    field: (pod, path) => kubectl('get', 'pod', pod, `-ojsonpath={${path}}`),
    async ask(pod, line) {
      await ready(pod);
      return kubectl('exec', pod, '--', 'sh', '-c', line);
    },
    deletePods,
    async stop() {
      await deletePods().catch(() => {}); // what is left goes with the runtime
      await kubelet.stop();
      await runtime.stop();
      await plane.stop();
    },
  };
}

function manifest(nodeName: string, name: string, { container, pod }: PodChange): object {
  const main = { name: 'main', image: BUSYBOX_IMAGE, command: ['sleep', '1000'], ...container };
  const spec = { nodeName, dnsPolicy: 'Default', terminationGracePeriodSeconds: 0, containers: [main], ...pod };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec };
}
