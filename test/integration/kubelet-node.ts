import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import {
  type EmbeddedOptions,
  type EmbeddedTestRuntime,
  embeddedSkipReason,
  startEmbedded,
} from './runtime-fixture.ts';
import { startTestCluster } from './test-cluster.ts';

/** The differences of a pod whose only container sleeps in busybox. */
export interface PodChange {
  readonly container?: object;
  readonly pod?: object;
}

/** A cluster of one node: Kubernetes' own kubelet on `nodelet cri`. */
export interface KubeletNode {
  readonly name: string;
  readonly plane: ControlPlane;
  readonly runtime: EmbeddedTestRuntime;
  /** Creates pods by name; kubelet starts them in parallel. */
  create(pods: Readonly<Record<string, PodChange>>): Promise<void>;
  /** Resolves when a pod is ready. */
  ready(pod: string): Promise<void>;
  /** Resolves when a field of a pod has that value: `.status.phase`. */
  became(pod: string, path: string, value: string): Promise<void>;
  field(pod: string, path: string): Promise<string>;
  /** The output of a shell command in a ready pod; it must succeed. */
  ask(pod: string, line: string): Promise<string>;
  deletePods(): Promise<void>;
  stop(): Promise<void>;
}

/** The `{ skip }` reason of a test when it cannot run here, else `false`. */
export function kubeletNodeSkipReason(): string | false {
  return goKubeletSkipReason() || embeddedSkipReason();
}

export async function startKubeletNode(options: EmbeddedOptions = {}): Promise<KubeletNode> {
  const name = 'node-1';
  const { plane, runtime, stop } = await startTestCluster(
    () => startEmbedded(options),
    (plane, { endpoint, cgroupParent }) => startGoKubelet({ plane, nodeName: name, endpoint, cgroupParent }),
  );
  const { kubectl } = plane;
  const ready = (pod: string): Promise<void> => plane.wait(pod, 'condition=Ready');
  const deletePods = (): Promise<void> => plane.remove('--all');
  return {
    name,
    plane,
    runtime,
    create: (pods) => plane.apply(...Object.entries(pods).map(([pod, change]) => manifest(name, pod, change))),
    ready,
    became: (pod, path, value) => plane.wait(pod, `jsonpath={${path}}=${value}`),
    field: plane.field,
    async ask(pod, line) {
      await ready(pod);
      return kubectl('exec', pod, '--', 'sh', '-c', line);
    },
    deletePods,
    async stop() {
      await deletePods().catch(() => {}); // the rest is removed with the runtime
      await stop();
    },
  };
}

function manifest(nodeName: string, name: string, { container, pod }: PodChange): object {
  const main = { name: 'main', image: BUSYBOX_IMAGE, command: ['sleep', '1000'], ...container };
  return podOn(nodeName, name, { dnsPolicy: 'Default', terminationGracePeriodSeconds: 0, containers: [main], ...pod });
}
