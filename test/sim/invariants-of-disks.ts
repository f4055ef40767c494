import type { FakeContainer } from '../../src/cri/fake/records.ts';
import type { CsiCall } from '../../src/plugins/fake/fake-csi-driver.ts';
import type { CheckContext } from './check-context.ts';

/** The directory of a published volume, by the UID of its pod. */
const PUBLISHED = /\/pods\/([^/]+)\/volumes\/kubernetes\.io~csi\//;

/** A volume is unpublished only when no container of its pod runs. */
export function checkDiskCall({ method, request }: CsiCall, { runtime, fail }: CheckContext): void {
  if (method !== 'NodeUnpublishVolume' || !('targetPath' in request)) return;
  const uid = PUBLISHED.exec(request.targetPath)?.[1];
  const running = [...runtime.containers.values()].find(
    ({ state, config }) => state.phase === 'running' && config.labels['io.kubernetes.pod.uid'] === uid,
  );
  if (running) fail(34, `a volume of ${uid} is unpublished while ${running.config.metadata?.name} runs`);
}

/** A container is created with volumes that are published. */
export function checkDisksOf({ config }: Readonly<FakeContainer>, { disks, fail }: CheckContext): void {
  for (const { hostPath } of config.mounts) {
    if (!PUBLISHED.test(hostPath) || disks.published.has(hostPath)) continue;
    fail(34, `${config.labels['io.kubernetes.pod.uid']} is created with ${hostPath}, which is not published`);
  }
}
