import type {
  ObservedContainer,
  ObservedContainerBase,
  ObservedContainerState,
  ObservedSandbox,
} from './observed-pod.ts';

/** Sandbox `s0`, which is ready. */
export const READY_SANDBOX: ObservedSandbox = {
  id: 's0',
  attempt: 0,
  ready: true,
  createdAt: 1n,
  hostNetwork: false,
  ips: ['10.0.0.2'],
  runtimeHandler: '',
};

/** The first container of this name in sandbox `s0`, as the runtime reports it. */
export function observedContainer(
  name: string,
  state: ObservedContainerState,
  changes: Partial<ObservedContainerBase> = {},
): ObservedContainer {
  return {
    id: `${name}-0`,
    name,
    sandboxId: 's0',
    restartCount: 0,
    hash: '',
    image: 'busybox',
    imageRef: 'sha256:1',
    imageId: 'sha256:1',
    createdAt: 1n,
    logPath: '',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    terminationGracePeriodSeconds: 30,
    terminationMessageFile: undefined,
    ...changes,
    ...state,
  };
}
