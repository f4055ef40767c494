import type { FakeContainer } from '../../src/cri/fake/records.ts';
import { findContainer } from '../../src/kubelet/pod/find-container.ts';
import type { CheckContext } from './check-context.ts';
import { CLAIMS, DRA_DRIVERS } from './plan-machine.ts';
import type { PodRecord } from './pod-records.ts';
import { type ClaimCall, claimOf } from './sim-claims.ts';

/** A claim is not unprepared while a container uses it, and prepared once by an agent process before that. */
export function checkClaimCall({ method, driver, uid }: ClaimCall, context: CheckContext): void {
  const { runtime, machine, fail } = context;
  if (method === 'prepare') {
    if (machine?.claims.used.has(uid)) fail(39, `the claim ${uid} is prepared again by ${driver}`);
    return;
  }
  machine?.claims.used.delete(uid);
  const user = [...runtime.containers.values()].find(
    (each) => each.state.phase === 'running' && claimsIn(each).includes(uid),
  );
  if (user) fail(39, `the claim ${uid} is unprepared while ${user.config.labels['io.kubernetes.pod.uid']} uses it`);
}

/** A container is created with its claims, all of which are prepared. */
export function checkClaimsOf(pod: PodRecord, container: Readonly<FakeContainer>, context: CheckContext): void {
  const { machine, fail } = context;
  const latest = pod.versions.at(-1);
  if (!machine || !latest) return;
  const name = container.config.metadata?.name ?? '';
  const uses = findContainer(latest.spec, name)?.resources?.claims ?? [];
  const expected = uses.flatMap((use) => CLAIMS.get(use.name) ?? []).length;
  const devices = devicesIn(container);
  if (devices.length !== expected)
    fail(39, `${pod.uid}/${name} has ${devices.length} instead of ${expected} devices of claims`);
  for (const device of devices) {
    if (!machine.claims.prepared.has(device)) fail(39, `${pod.uid}/${name} uses ${device}, which is not prepared`);
    machine.claims.used.add(claimOf(device));
  }
}

function claimsIn(container: Readonly<FakeContainer>): readonly string[] {
  return devicesIn(container).map(claimOf);
}

function devicesIn({ config }: Readonly<FakeContainer>): readonly string[] {
  const names = config.CDIDevices.map(({ name }) => name);
  return names.filter((name) => DRA_DRIVERS.some((driver) => name.startsWith(`${driver}/`)));
}
