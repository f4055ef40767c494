import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { freePort } from './free-port.ts';
import { type KubeletNode, kubeletNodeSkipReason, type PodChange, startKubeletNode } from './kubelet-node.ts';
import { numericRootUserImage } from './numeric-root-user-image.ts';

/** The pods of this file; all are created at once, because kubelet starts them in parallel. */
function pods(hostPort: number): Readonly<Record<string, PodChange>> {
  const memory = (limit: string) => ({
    requests: { cpu: '100m', memory: limit },
    limits: { cpu: '200m', memory: limit },
  });
  const serve = 'mkdir /www; echo served > /www/index.html; httpd -f -p 8080 -h /www';
  return {
    'own-users': { container: { command: ['sh', '-c', 'cat /proc/self/uid_map'] }, pod: { hostUsers: false, ...ONCE } },
    'image-volume': {
      container: {
        volumeMounts: [
          { name: 'image', mountPath: '/image' },
          { name: 'image', mountPath: '/part', subPath: 'etc' },
          { name: 'data', mountPath: '/data', subPath: 'sub' },
        ],
      },
      pod: {
        volumes: [
          { name: 'image', image: { reference: BUSYBOX_IMAGE, pullPolicy: 'Never' } },
          { name: 'data', emptyDir: {} },
        ],
      },
    },
    resized: { container: { resources: memory('60Mi') } },
    debugged: {},
    'host-port': {
      container: {
        command: ['sh', '-c', serve],
        ports: [{ containerPort: 8080, hostPort }],
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      },
    },
    'host-network': { pod: { hostNetwork: true } },
    'one-tree': { pod: { shareProcessNamespace: true } },
    'without-rights': {
      container: {
        securityContext: {
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
          allowPrivilegeEscalation: false,
        },
      },
      pod: {
        securityContext: {
          runAsUser: 1000,
          runAsGroup: 3000,
          supplementalGroups: [4000],
          seccompProfile: { type: 'RuntimeDefault' },
        },
      },
    },
    'too-much': {
      container: { command: ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=100M'], resources: memory('20Mi') },
      pod: ONCE,
    },
    'disguised-root': {
      container: { image: DISGUISED_ROOT, imagePullPolicy: 'Never', command: ['id', '-u'] },
      pod: { securityContext: { runAsNonRoot: true }, ...ONCE },
    },
    'no-program': { container: { command: ['/not-there'] }, pod: ONCE },
    sidecar: {
      pod: {
        initContainers: [{ name: 'beside', image: BUSYBOX_IMAGE, command: ['sleep', '1000'], restartPolicy: 'Always' }],
      },
    },
  };
}

const DISGUISED_ROOT = 'localhost/nodelet/disguised-root:1';
const ONCE = { restartPolicy: 'Never' } as const;

suite("features of pods by Kubernetes' own kubelet", { skip: kubeletNodeSkipReason() }, () => {
  let node: KubeletNode;
  let hostPort: number;

  before(async () => {
    node = await startKubeletNode({ hostPorts: true });
    hostPort = await freePort();
    await node.runtime.load(await numericRootUserImage(node.runtime.folder, DISGUISED_ROOT));
    await node.create(pods(hostPort));
  });
  after(() => node?.stop());

  test('hostUsers false: root in a pod is unprivileged on the node', async (context) => {
    const features = '-ojsonpath={.status.runtimeHandlers[?(@.name=="")].features.userNamespaces}';
    if ((await node.plane.kubectl('get', 'node', node.name, features)) !== 'true')
      return context.skip('no user namespaces here');
    await node.became('own-users', '.status.phase', 'Succeeded');
    assert.match(await node.plane.kubectl('logs', 'own-users'), /^ +0 +[1-9]\d{4,} +65536\n$/);
  });

  test('an image volume is read-only', async () => {
    const said = await node.ask('image-volume', 'ls /image/bin/sh; touch /image/new 2>&1 || true');
    assert.equal(said, '/image/bin/sh\ntouch: /image/new: Read-only file system\n');
    const parts = await node.ask('image-volume', 'ls /part; touch /data/new; ls /data; /image/bin/sh 2>&1 || true');
    assert.equal(parts, 'group\npasswd\nnew\nsh: /image/bin/sh: Permission denied\n');
  });

  test('in-place resize', async () => {
    await node.ready('resized');
    const resources = { limits: { memory: '80Mi', cpu: '300m' }, requests: { memory: '80Mi' } };
    const patch = JSON.stringify({ spec: { containers: [{ name: 'main', resources }] } });
    await node.plane.kubectl('patch', 'pod', 'resized', '--subresource=resize', `--patch=${patch}`);
    await node.became('resized', '.status.containerStatuses[0].resources.limits.memory', '80Mi');
    const limit = 'cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes';
    assert.equal(Number(await node.ask('resized', limit)), 80 * 2 ** 20);
    assert.equal(await node.field('resized', '.status.containerStatuses[0].restartCount'), '0');
  });

  test('a debug container sees the processes of its target', async () => {
    await node.ready('debugged');
    const image = [`--image=${BUSYBOX_IMAGE}`, '--image-pull-policy=Never', '--target=main', '--container=debugger'];
    await node.plane.kubectl('debug', 'debugged', ...image, '--quiet', '--', 'sh', '-c', 'cat /proc/1/cmdline');
    await node.became('debugged', '.status.ephemeralContainerStatuses[0].state.terminated.exitCode', '0');
    assert.equal(await node.plane.kubectl('logs', 'debugged', '-c', 'debugger'), 'sleep\x001000\x00');
  });

  test('a host port leads to a pod, also from the host network', async () => {
    await node.ready('host-port');
    assert.equal(await node.ask('host-network', `wget -qO- http://127.0.0.1:${hostPort}/`), 'served\n');
  });

  test('containers share a process namespace', async () => {
    assert.match(await node.ask('one-tree', 'cat /proc/1/cmdline'), /pause/);
  });

  test('security contexts', async () => {
    const script =
      'id -u; id -g; id -G; grep -E "CapEff|NoNewPrivs|Seccomp:" /proc/self/status; touch /new 2>&1 || true';
    const said = (await node.ask('without-rights', script)).replaceAll('\t', ' ').trim().split('\n');
    assert.deepEqual(said, [
      '1000',
      '3000',
      '3000 4000',
      'CapEff: 0000000000000000',
      'NoNewPrivs: 1',
      'Seccomp: 2',
      'touch: /new: Read-only file system',
    ]);
  });

  test('runAsNonRoot: an image whose USER is a number that names a root account does not run', async () => {
    const state = '.status.containerStatuses[0].state.waiting';
    await node.became('disguised-root', `${state}.reason`, 'CreateContainerConfigError');
    assert.match(
      await node.field('disguised-root', `${state}.message`),
      /^container has runAsNonRoot and image has non-numeric user \(4294967296\), cannot verify user is non-root/,
    );
  });

  test('termination reasons', async () => {
    await Promise.all(['too-much', 'no-program'].map((name) => node.became(name, '.status.phase', 'Failed')));
    const state = '.status.containerStatuses[0].state.terminated';
    const whys = ['too-much', 'no-program'].map((name) => node.field(name, `${state}.reason} {${state}.exitCode`));
    assert.deepEqual(await Promise.all(whys), ['OOMKilled 137', 'StartError 128']);
  });

  test('a sidecar runs beside its pod', async () => {
    await node.ready('sidecar');
    assert.equal(await node.field('sidecar', '.status.initContainerStatuses[0].started'), 'true');
  });
});
