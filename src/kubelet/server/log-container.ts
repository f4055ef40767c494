import type { ContainerStatus, PodStatus } from '../../api/generated/core-v1.ts';
import { HttpProblem } from './answers.ts';

const WHY_NO_IMAGE: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
};

/** What kubelet finds out only after it has begun an answer has no type. */
const UNTYPED = { headers: {} };

/** The `containerID` whose log is meant; throws the `HttpProblem` with which kubelet says that there is none. */
export function logContainerId(podName: string, status: PodStatus, container: string, previous: boolean): string {
  const found = statusOf(status, container);
  const named = `container "${container}" in pod "${podName}"`;
  if (found === undefined) throw new HttpProblem(400, `${named} is not available`, UNTYPED);
  const last = found.lastState?.terminated;
  const { waiting, running, terminated } = found.state ?? {};
  if (previous) {
    if (last?.containerID) return last.containerID;
    throw new HttpProblem(400, `previous terminated ${named} not found`, UNTYPED);
  }
  if (running) return found.containerID ?? '';
  if (terminated?.containerID) return terminated.containerID;
  // The next one did not start: what there is to read is of the one before.
  if (terminated || last) {
    if (last?.containerID) return last.containerID;
    throw new HttpProblem(400, `${named} is terminated`, UNTYPED);
  }
  if (!waiting) throw new HttpProblem(400, `${named} is waiting to start - no logs yet`, UNTYPED);
  const reason = waiting.reason ?? '';
  throw new HttpProblem(400, `${named} is waiting to start: ${WHY_NO_IMAGE[reason] ?? reason}`, UNTYPED);
}

function statusOf(status: PodStatus, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status;
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    (each) => each.name === name,
  );
}
