/**
 * Unsupported or failing pods on the real runtime: kubelet's own reason and message, the other containers run, and the pod
 * recovers by itself once the cause is gone. All pods fail and recover in parallel.
 */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Container, Pod } from '../../src/api/generated/core-v1.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import type { AgentEvent } from '../../src/kubelet/explain/agent-view.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { runtimeSkipReason, TEST_RUNTIME } from './runtime-fixture.ts';

const LOADED_LATER = 'localhost/nodelet/later:1';
const SECOND_NAME = 'localhost/nodelet/busybox:2';

/** The part of the message that comes from the runtime. */
const TEXTS = {
  containerd: {
    seccomp: /cannot load seccomp profile ".*\/kubelet\/seccomp\/late\.json": open .*: no such file or directory$/,
    command: /exec: "\/nowhere": stat \/nowhere: no such file or directory/,
    handler: 'code = Unknown desc = failed to get sandbox runtime: no runtime for "nowhere" is configured',
  },
  containerd2: {
    seccomp: /cannot load seccomp profile ".*\/kubelet\/seccomp\/late\.json": open .*: no such file or directory$/,
    command: /exec: "\/nowhere": stat \/nowhere: no such file or directory/,
    handler: 'code = Unknown desc = unable to get OCI runtime for sandbox "ID": no runtime for "nowhere" is configured',
  },
  embedded: {
    seccomp:
      /^config\.linux\.security_context\.seccomp\.localhost_ref: cannot load seccomp profile ".*\/kubelet\/seccomp\/late\.json": /,
    command: /\/nowhere.*(No such file or directory|no such file or directory|not found)/, // crun's, runc's
    handler: 'code = InvalidArgument desc = runtime_handler: no runtime for "nowhere" is configured',
  },
}[TEST_RUNTIME];

/** The time in which a failed sync is retried. */
const FAILED_PASS_MS = 20_000;

interface Case {
  /** The failing container, beside one that runs. */
  readonly bad: Partial<Container>;
  readonly reason: string;
  readonly message: RegExp;
  /** Removes the cause and returns the container from then on. */
  readonly mend: (it: TestAgent) => Promise<Partial<Container> | undefined>;
}

const CASES: Record<string, Case> = {
  nonroot: {
    bad: { securityContext: { runAsNonRoot: true } },
    reason: 'CreateContainerConfigError',
    message:
      /^container has runAsNonRoot and image will run as root \(pod: "nonroot_default\(uid-nonroot\)", container: bad\)$/,
    mend: async () => ({ securityContext: { runAsNonRoot: true, runAsUser: 1000 } }),
  },
  seccomp: {
    bad: { securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'late.json' } } },
    reason: 'CreateContainerError',
    message: TEXTS.seccomp,
    async mend({ runtime }) {
      const folder = join(runtime.folder, 'kubelet/seccomp');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'late.json'), JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW' }));
      return undefined;
    },
  },
  command: {
    bad: { command: ['/nowhere'] },
    reason: 'RunContainerError',
    message: TEXTS.command,
    async mend({ runtime }) {
      // Another image name is another container: it does not wait for the previous back-off.
      await runtime.tag(BUSYBOX_IMAGE, SECOND_NAME);
      return { image: SECOND_NAME };
    },
  },
  name: {
    bad: { image: 'Not/A::name' },
    reason: 'InvalidImageName',
    message: /^Failed to apply default image tag "Not\/A::name": couldn't parse image name "Not\/A::name": /,
    mend: async () => ({ image: BUSYBOX_IMAGE }),
  },
  never: {
    bad: { image: LOADED_LATER, imagePullPolicy: 'Never' },
    reason: 'ErrImageNeverPull',
    message: /^Container image "localhost\/nodelet\/later:1" is not present with pull policy of Never$/,
    async mend({ runtime }) {
      await runtime.tag(BUSYBOX_IMAGE, LOADED_LATER);
      return undefined;
    },
  },
};

suite('what cannot be honoured', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  let hostPath = '';

  before(async () => {
    it = await startTestAgent({ clusterDns: ['10.0.0.10'] });
    hostPath = join(it.runtime.folder, 'late-folder');
  });
  after(() => it.stop());

  const caseOf = (name: string, changes: Partial<Container>): Pod =>
    podOf(name, { containers: [shell('good', EXITS_ON_SIGTERM), { ...shell('bad', EXITS_ON_SIGTERM), ...changes }] });
  const late = (): Pod[] => [
    podOf('folder', {
      containers: [{ ...shell('main', EXITS_ON_SIGTERM), volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', hostPath: { path: hostPath, type: 'Directory' } }],
    }),
    podOf('class', { containers: [shell('main', EXITS_ON_SIGTERM)], runtimeClassName: 'late' }),
    podOf('handler', { containers: [shell('main', EXITS_ON_SIGTERM)], runtimeClassName: 'wrong' }),
  ];
  /** Resolves with the waiting message of the reason; later reasons, such as back-off, may replace it. */
  const failed = async (name: string, reason: string): Promise<string> => {
    let message = '';
    await it.next((event) => {
      const isSo = isOf(event, name) && runs(event, 'good');
      const waiting = isSo ? waitsFor(event, reason) : undefined;
      message ||= waiting ?? '';
      return waiting !== undefined;
    }, `${name}: ${reason}`);
    return message;
  };
  const reported = (name: string, reason: string): Promise<number> =>
    it.next(
      (event) => event.kind === 'event' && isOf(event, name) && event.event.reason === reason,
      `${name}: ${reason}`,
    );

  test("each is reported with kubelet's message, and does not affect other containers", async () => {
    it.source.setObjects({ runtimeClasses: [{ metadata: { name: 'wrong' }, handler: 'nowhere' }] });
    const messages = Promise.all(Object.entries(CASES).map(([name, { reason }]) => failed(name, reason)));
    const all = Promise.all([
      messages,
      reported('folder', 'FailedMount'),
      reported('class', 'FailedCreatePodSandBox'),
      reported('handler', 'FailedCreatePodSandBox'),
    ]);
    it.source.set(...Object.entries(CASES).map(([name, { bad }]) => caseOf(name, bad)), ...late());
    await all;
    for (const [index, [name, { reason, message }]] of Object.entries(CASES).entries()) {
      assert.match((await messages)[index] ?? '', message);
      const events = it.report(name).events.filter(({ fieldPath }) => fieldPath === 'spec.containers{bad}');
      const text = `${reason}: ${events.map((event) => `${event.type} ${event.reason} ${event.message}`).join('\n')}`;
      assert.ok(
        events.some((event) => event.type === 'Warning' && message.test(event.message.replace(/^Error: /, ''))),
        text,
      );
    }
    assert.deepEqual(messagesOf(it, 'folder', 'FailedMount'), [
      `MountVolume.SetUp failed for volume "data" : hostPath type check failed: ${hostPath} is not a directory`,
    ]);
    assert.deepEqual(messagesOf(it, 'class', 'FailedCreatePodSandBox'), [
      'Failed to create pod sandbox: runtimeclass.node.k8s.io "late" not found',
    ]);
    assert.deepEqual(
      messagesOf(it, 'handler', 'FailedCreatePodSandBox').map((text) => text.replace(/"[0-9a-f]{64}"/, '"ID"')),
      [`Failed to create pod sandbox: rpc error: ${TEXTS.handler}`],
    );
  });

  test('each recovers without a restart once its cause is gone', async () => {
    const names = [...Object.keys(CASES), 'folder', 'class', 'handler'];
    const all = Promise.all(names.map((name) => it.ready(name)));
    mkdirSync(hostPath);
    const mended = await Promise.all(
      Object.entries(CASES).map(async ([name, { bad, mend }]) => caseOf(name, (await mend(it)) ?? bad)),
    );
    it.source.set(...mended, ...late());
    it.source.setObjects({
      runtimeClasses: [
        { metadata: { name: 'wrong' }, handler: 'runc' },
        { metadata: { name: 'late' }, handler: 'other' },
      ],
    });
    it.clock.leap(FAILED_PASS_MS);
    await all;
  });
});

function isOf(event: AgentEvent, name: string): boolean {
  return 'pod' in event && event.pod.metadata.name === name;
}

/** The message with which it waits for this reason. */
function waitsFor(event: AgentEvent, reason: string): string | undefined {
  if (event.kind !== 'status') return undefined;
  const bad = event.status.containerStatuses?.find(({ name }) => name === 'bad');
  return bad?.state?.waiting?.reason === reason ? bad.state.waiting.message : undefined;
}

function runs(event: AgentEvent, container: string): boolean {
  if (event.kind !== 'status') return false;
  return (event.status.containerStatuses ?? []).some(
    ({ name, state }) => name === container && state?.running !== undefined,
  );
}

function messagesOf(it: TestAgent, name: string, reason: string): string[] {
  const events = it.report(name).events.filter((event) => event.reason === reason);
  return [...new Set(events.map(({ message }) => message))];
}
