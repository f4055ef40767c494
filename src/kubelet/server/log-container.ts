import type { ContainerStatus, PodStatus } from '../../api/generated/core-v1.ts';
import { HttpError } from './responses.ts';

const WHY_NO_IMAGE: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
};

/** kubelet finds these errors after it has begun its response: they have no content type. */
const UNTYPED = { headers: {} };

/** Returns the `containerID` of the requested log; throws kubelet's `HttpError` when the container has no log. */
export function logContainerId(podName: string, status: PodStatus, container: string, previous: boolean): string {
  const found = statusOf(status, container);
  const named = `container "${container}" in pod "${podName}"`;
  if (found === undefined) throw new HttpError(400, `${named} is not available`, UNTYPED);
  const last = found.lastState?.terminated;
  const { waiting, running, terminated } = found.state ?? {};
  if (previous) {
    if (last?.containerID) return last.containerID;
    throw new HttpError(400, `previous terminated ${named} not found`, UNTYPED);
  }
  if (running) return found.containerID ?? '';
  if (terminated?.containerID) return terminated.containerID;
  // The newest container did not start: the log of the previous one is served.
  if (terminated || last) {
    if (last?.containerID) return last.containerID;
    throw new HttpError(400, `${named} is terminated`, UNTYPED);
  }
  if (!waiting) throw new HttpError(400, `${named} is waiting to start - no logs yet`, UNTYPED);
  const reason = waiting.reason ?? '';
  throw new HttpError(400, `${named} is waiting to start: ${WHY_NO_IMAGE[reason] ?? reason}`, UNTYPED);
}

function statusOf(status: PodStatus, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status;
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    (each) => each.name === name,
  );
}
