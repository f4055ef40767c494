/** Every namespace mode, seen from inside; and kubelet's messages on a runtime that does not support all. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { connectCri } from '../../src/cri/client.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import type { AgentEvent } from '../../src/kubelet/explain/agent-view.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { accessContainers, type ContainerAccess } from './container-access.ts';
import { runtimeSkipReason } from './runtime-fixture.ts';

const signal = new AbortController().signal;
const KINDS = ['net', 'ipc', 'pid', 'uts', 'user'] as const;
type Kind = (typeof KINDS)[number];

/** The features that a runtime reports: they also depend on the OCI runtime and on the kernel. */
interface Abilities {
  readonly users: boolean;
  readonly strictGroups: boolean;
  readonly readOnlyBelow: boolean;
}

const CAN = 'this runtime can';
const CANNOT = 'this runtime cannot';

async function abilitiesOf({ runtime }: TestAgent): Promise<Abilities> {
  const cri = connectCri(runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 });
  const { features, runtimeHandlers } = await cri.runtime.status({ verbose: false }, signal);
  cri.close();
  const ofDefault = runtimeHandlers.find(({ name }) => name === '')?.features;
  return {
    users: ofDefault?.userNamespaces ?? false,
    strictGroups: features?.supplementalGroupsPolicy ?? false,
    readOnlyBelow: ofDefault?.recursiveReadOnlyMounts ?? false,
  };
}

suite('the namespaces of a pod', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  let inside: ContainerAccess;
  let can: Abilities;

  before(async () => {
    it = await startTestAgent({ clusterDns: ['10.0.0.10'] });
    inside = accessContainers(it, signal);
    can = await abilitiesOf(it);
  });
  after(async () => {
    inside.close();
    await it.stop();
  });

  const start = async (name: string, spec: Partial<Pod['spec']>): Promise<void> => {
    const ready = it.ready(name);
    it.source.set(
      podOf(name, { containers: [shell('main', EXITS_ON_SIGTERM), shell('other', EXITS_ON_SIGTERM)], ...spec }),
    );
    await ready;
  };

  /** Which of the containers' namespaces are the host's, and which the two containers share. */
  const shared = async (name: string): Promise<{ host: Kind[]; pod: Kind[] }> => {
    const line = `for kind in ${KINDS.join(' ')}; do readlink /proc/self/ns/$kind; done`;
    const main = (await inside.ask(name, 'main', line)).split('\n');
    const other = (await inside.ask(name, 'other', line)).split('\n');
    const host = KINDS.map((kind) => readlinkSync(`/proc/self/ns/${kind}`));
    return {
      host: KINDS.filter((_, index) => main[index] === host[index]),
      pod: KINDS.filter((_, index) => main[index] === other[index] && main[index] !== host[index]),
    };
  };

  const modes: Record<string, { spec: Partial<Pod['spec']>; host: Kind[]; pod: Kind[] }> = {
    'its own': { spec: {}, host: ['user'], pod: ['net', 'ipc', 'uts'] },
    'one for all its processes': {
      spec: { shareProcessNamespace: true },
      host: ['user'],
      pod: ['net', 'ipc', 'pid', 'uts'],
    },
    "the machine's network": { spec: { hostNetwork: true }, host: ['net', 'uts', 'user'], pod: ['ipc'] },
    "the machine's processes": { spec: { hostPID: true }, host: ['pid', 'user'], pod: ['net', 'ipc', 'uts'] },
    "the machine's shared memory": { spec: { hostIPC: true }, host: ['ipc', 'user'], pod: ['net', 'uts'] },
    "the machine's, all of them": {
      spec: { hostNetwork: true, hostPID: true, hostIPC: true },
      host: ['net', 'ipc', 'pid', 'uts', 'user'],
      pod: [],
    },
  };
  for (const [index, [what, { spec, host, pod }]] of Object.entries(modes).entries()) {
    test(`${what}`, async () => {
      const name = `mode-${index}`;
      await start(name, spec);
      assert.deepEqual(await shared(name), { host, pod });
    });
  }

  test('a runtime class chooses the handler', async () => {
    it.source.setObjects({ runtimeClasses: [{ metadata: { name: 'second' }, handler: 'other' }] });
    await start('classy', { runtimeClassName: 'second' });
    assert.deepEqual(
      it.report('classy').observed?.sandboxes.map(({ runtimeHandler }) => runtimeHandler),
      ['other'],
    );
  });

  const reported = (name: string, reason: string): Promise<number> =>
    it.next(
      (event) => event.kind === 'event' && event.pod.metadata.name === name && event.event.reason === reason,
      `${reason} of ${name}`,
    );
  const messagesOf = (name: string, reason: string): string[] => {
    const events = it.report(name).events.filter((event) => event.reason === reason);
    return [...new Set(events.map(({ message }) => message))];
  };

  suite('what not every runtime can', () => {
    test('user namespaces', async (t) => {
      if (!can.users) return t.skip(CANNOT);
      await start('users', { hostUsers: false });
      assert.deepEqual(await shared('users'), { host: [], pod: ['net', 'ipc', 'uts', 'user'] });
      const [insideId, hostId, count] = (await inside.ask('users', 'main', 'cat /proc/self/uid_map')).split(/ +/);
      assert.deepEqual([insideId, count], ['0', '65536']);
      assert.ok(Number(hostId) >= 65536, `${hostId}`);
      const pid = await inside.pid('users', 'main');
      assert.equal(statSync(`/proc/${pid}`).uid, Number(hostId), 'root inside is unprivileged outside');
    });

    test('strict supplemental groups: those of the image are omitted', async (t) => {
      if (!can.strictGroups) return t.skip(CANNOT);
      const securityContext = { runAsUser: 1000, runAsGroup: 2000, supplementalGroups: [3000] };
      await start('strict', { securityContext: { ...securityContext, supplementalGroupsPolicy: 'Strict' } });
      assert.equal(await inside.ask('strict', 'main', 'id -G'), '2000 3000');
      assert.deepEqual(it.report('strict').status.containerStatuses?.[0]?.user, {
        linux: { uid: 1000, gid: 2000, supplementalGroups: [2000, 3000] },
      });
    });

    test('recursive read-only mounts', async (t) => {
      if (!can.readOnlyBelow) return t.skip(CANNOT);
      const path = join(it.runtime.folder, 'nested');
      mkdirSync(join(path, 'below'), { recursive: true });
      execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(path, 'below')]);
      t.after(() => execFileSync('umount', [join(path, 'below')]));
      const mount = { name: 'data', mountPath: '/data', readOnly: true };
      await start('mounts', {
        volumes: [{ name: 'data', hostPath: { path } }],
        containers: [
          { ...shell('main', EXITS_ON_SIGTERM), volumeMounts: [mount] },
          { ...shell('other', EXITS_ON_SIGTERM), volumeMounts: [{ ...mount, recursiveReadOnly: 'Enabled' }] },
        ],
      });
      assert.match(await inside.ask('mounts', 'main', 'touch /data/x'), /Read-only file system/);
      assert.equal(await inside.ask('mounts', 'main', 'touch /data/below/x'), '');
      assert.match(await inside.ask('mounts', 'other', 'touch /data/below/x'), /Read-only file system/);
    });
  });

  suite('in the words of kubelet', () => {
    test('user namespaces are rejected', async (t) => {
      if (can.users) return t.skip(CAN);
      const failed = reported('users', 'FailedCreatePodSandBox');
      it.source.set(podOf('users', { hostUsers: false }));
      await failed;
      assert.deepEqual(messagesOf('users', 'FailedCreatePodSandBox'), [
        "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
      ]);
    });

    test('strict supplemental groups are rejected', async (t) => {
      if (can.strictGroups) return t.skip(CAN);
      const rejected = reported('strict', 'SupplementalGroupsPolicyNotSupported');
      it.source.set(podOf('strict', { securityContext: { supplementalGroupsPolicy: 'Strict' } }));
      await rejected;
      const { phase, reason, message } = it.report('strict').status;
      assert.deepEqual(
        [phase, reason, message],
        [
          'Failed',
          'SupplementalGroupsPolicyNotSupported',
          'Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node',
        ],
      );
    });

    test('recursive read-only mounts are rejected; IfPossible ones are not', async (t) => {
      if (can.readOnlyBelow) return t.skip(CAN);
      const mount = { name: 'data', mountPath: '/data', readOnly: true };
      const isRunning = (event: AgentEvent): boolean =>
        event.kind === 'status' &&
        event.pod.metadata.name === 'mounts' &&
        (event.status.containerStatuses ?? []).some(
          ({ name, state }) => name === 'main' && state?.running !== undefined,
        );
      const started = Promise.all([reported('mounts', 'Failed'), it.next(isRunning, 'the container runs that can')]);
      it.source.set(
        podOf('mounts', {
          volumes: [{ name: 'data', emptyDir: {} }],
          containers: [
            { ...shell('main', EXITS_ON_SIGTERM), volumeMounts: [{ ...mount, recursiveReadOnly: 'IfPossible' }] },
            { ...shell('must', EXITS_ON_SIGTERM), volumeMounts: [{ ...mount, recursiveReadOnly: 'Enabled' }] },
          ],
        }),
      );
      await started;
      assert.deepEqual(messagesOf('mounts', 'Failed'), [
        'Error: failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime',
      ]);
      assert.match(await inside.ask('mounts', 'main', 'touch /data/x'), /Read-only file system/);
    });
  });
});
