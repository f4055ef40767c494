import assert from 'node:assert/strict';
import test from 'node:test';
import { claimPod, persistentMachine } from '../../../test/agent/persistent-machine.ts';
import type { ISCSIPersistentVolumeSource, PersistentVolumeSpec } from '../../api/generated/core-v1.ts';
import type { ProgramContext } from '../../host/fake/memory-process.ts';

const signal = new AbortController().signal;
const IQN = 'iqn.2026-01.example:disks';
const ISCSI: ISCSIPersistentVolumeSource = { targetPortal: '10.0.0.1', iqn: IQN, lun: 3 };
const NODE = `/k/plugins/kubernetes.io/iscsi/iface-default/10.0.0.1:3260-${IQN}-lun-3`;
const PATH = '/k/pods/u1/volumes/kubernetes.io~iscsi/pv';
const SESSION = '/sys/class/iscsi_host/host7/device/session1';
const LINK = `/dev/disk/by-path/ip-10.0.0.1:3260-iscsi-${IQN}-lun-3`;
const NODE_ARGS = `-p 10.0.0.1:3260 -T ${IQN} -I default`;

/** A node with open-iscsi and a target with one disk. */
async function machine(iscsi: Partial<ISCSIPersistentVolumeSource> = {}, spec: Partial<PersistentVolumeSpec> = {}) {
  const world = await persistentMachine({ iscsi: { ...ISCSI, ...iscsi }, ...spec });
  const { fs, mounts, install } = world;
  await fs.makeDirectory('/dev');
  fs.createDevice('/dev/sdb', 'blockDevice', { major: 8, minor: 16 });
  await fs.makeDirectory('/sys/class/scsi_host/host7');
  await fs.makeDirectory('/sys/block/sdb/device');
  const logIn = async (): Promise<void> => {
    const connection = `${SESSION}/connection1:0/iscsi_connection/connection1:0`;
    await fs.makeDirectory(connection);
    for (const prefix of ['', 'persistent_']) {
      await fs.writeFile(`${connection}/${prefix}address`, '10.0.0.1\n');
      await fs.writeFile(`${connection}/${prefix}port`, '3260\n');
    }
    await fs.makeDirectory(`${SESSION}/iscsi_session/session1`);
    await fs.writeFile(`${SESSION}/iscsi_session/session1/targetname`, `${IQN}\n`);
    await fs.makeDirectory(`${SESSION}/target7:0:0/7:0:0:3/block/sdb`);
    await fs.makeDirectory('/dev/disk/by-path');
    await fs.symbolicLink('/dev/sdb', LINK);
  };
  const iscsiadm = async ({ args, stdout }: ProgramContext): Promise<number> => {
    if (args.includes('show')) stdout('iface.iscsi_ifacename = default\niface.transport_name = tcp\n');
    if (args.includes('--login')) await logIn();
    if (args.includes('--logout')) await fs.removeTree('/sys/class/iscsi_host');
    return 0;
  };
  install('iscsiadm', iscsiadm);
  install('blkid', async () => 2);
  install('mkfs.ext4', async () => 0);
  install('mount', async ({ args }) => {
    const [source = '', target = ''] = args.slice(-2);
    await mounts.mount({ source, target, type: 'ext4' });
    return 0;
  });
  return { ...world, iscsiadm };
}

test('a disk is logged in to, mounted for the node and its pods, and logged out after the last', async () => {
  const { fs, calls, targets, start } = await machine();
  const volumes = start();
  await volumes.prepare(claimPod('u1'), signal);
  await volumes.prepare(claimPod('u2'), signal);
  const discovery = 'iscsiadm -m discoverydb -t sendtargets -p 10.0.0.1:3260 -I default';
  assert.deepEqual(calls.splice(0), [
    'iscsiadm -m iface -I default -o show',
    `${discovery} -o new`,
    `${discovery} --discover`,
    `iscsiadm -m node ${NODE_ARGS} -o update -n node.session.scan -v manual`,
    `iscsiadm -m node ${NODE_ARGS} --login`,
    `iscsiadm -m node -p 10.0.0.1:3260 -T ${IQN} -o update -n node.startup -v manual`,
    `blkid -p -s TYPE -s PTTYPE -o export ${LINK}`,
    `mkfs.ext4 -F -m0 ${LINK}`,
    `mount -t ext4 -o defaults ${LINK} ${NODE}`,
  ]);
  assert.deepEqual(await targets(), [NODE, PATH, PATH.replace('u1', 'u2')]);
  assert.equal(await fs.readText('/sys/class/scsi_host/host7/scan'), '0 0 3');

  await volumes.release(claimPod('u1'), signal);
  assert.deepEqual([await targets(), calls], [[NODE, PATH.replace('u1', 'u2')], []]);
  await start().release(claimPod('u2'), signal); // by a new process
  assert.deepEqual(await targets(), []);
  assert.deepEqual(calls, [
    `iscsiadm -m node -p 10.0.0.1:3260 -T ${IQN} --logout -I default`,
    `iscsiadm -m node -p 10.0.0.1:3260 -T ${IQN} -o delete -I default`,
  ]);
  assert.equal(await fs.readText('/sys/block/sdb/device/delete'), '1');
  assert.equal(await fs.lstat(NODE), undefined);
});

test('a disk for one pod is refused to a second', async () => {
  const { targets, start } = await machine({}, { accessModes: ['ReadWriteOncePod'] });
  const volumes = start();
  await volumes.prepare(claimPod('u1'), signal);
  await assert.rejects(volumes.prepare(claimPod('u2'), signal), {
    message:
      'MountVolume.SetUp failed for volume "pv" : volume uses the ReadWriteOncePod access mode and is already in use by another pod',
  });
  const next = start(); // by a new process
  await next.prepare(claimPod('u1'), signal);
  await next.release(claimPod('u2'), signal);
  await next.release(claimPod('u1'), signal);
  assert.deepEqual(await targets(), []);
});

test('the session stays while the node has another disk of the target', async () => {
  const { fs, calls, start } = await machine();
  const volumes = start();
  await volumes.prepare(claimPod('u1'), signal);
  await fs.makeDirectory(NODE.replace('lun-3', 'lun-4'));
  calls.splice(0);
  await volumes.release(claimPod('u1'), signal);
  assert.deepEqual(calls, []);
});

test('the file of a disk is that of kubelet', async () => {
  const { fs, mounts, start } = await machine();
  await start().prepare(claimPod('u1'), signal);
  for (const target of [PATH, NODE]) await mounts.unmount(target);
  assert.equal(
    await fs.readText(`${NODE}/iscsi.json`),
    `{"VolName":"pv","Portals":["10.0.0.1:3260"],"Iqn":"${IQN}","Lun":"3","InitIface":"default","Iface":"default","InitiatorName":"","MetricsProvider":null}\n`,
  );
});

test('a device that udev creates later is waited for without polling', async () => {
  const { fs, clock, install, iscsiadm, targets, start } = await machine();
  install('iscsiadm', async (context) => {
    const code = await iscsiadm(context);
    if (context.args.includes('--login')) await fs.removeTree('/dev/disk');
    return code;
  });
  const prepared = start().prepare(claimPod('u1'), signal);
  await clock.advance(5_000);
  assert.deepEqual(await targets(), []);
  await fs.makeDirectory('/dev/disk/by-path');
  await clock.advance(1);
  await fs.symbolicLink('/dev/sdb', LINK);
  await clock.advance(1);
  await prepared;
  assert.deepEqual(await targets(), [NODE, PATH]);
});

const failures: Record<string, { program?: (context: ProgramContext) => Promise<number>; message: string }> = {
  'whose portal does not answer': {
    program: async ({ args, stdout, stderr }) => {
      if (args.includes('show')) stdout('iface.transport_name = tcp\n');
      if (!args.includes('--discover')) return 0;
      stderr('iscsiadm: cannot make connection to 10.0.0.1: Connection refused\n');
      return 4;
    },
    message:
      'MountVolume.WaitForAttach failed for volume "pv" : failed to get any path for iscsi disk, last err seen:\niscsi: failed to sendtargets to portal 10.0.0.1:3260 output: iscsiadm: cannot make connection to 10.0.0.1: Connection refused, err exit status 4',
  },
  'without open-iscsi': {
    message: 'MountVolume.WaitForAttach failed for volume "pv" : exec: "iscsiadm": executable file not found in $PATH',
  },
};
for (const [name, { program, message }] of Object.entries(failures)) {
  test(`a disk ${name} is reported, and its pod can be deleted`, async () => {
    const { processes, install, targets, start } = await machine();
    if (program) install('iscsiadm', program);
    else processes.errors.failNext('run', 'ENOENT', 'iscsiadm');
    const volumes = start();
    await assert.rejects(volumes.prepare(claimPod('u1'), signal), { reason: 'FailedMount', message });
    if (!program) processes.errors.failNext('run', 'ENOENT', 'iscsiadm');
    await volumes.release(claimPod('u1'), signal);
    assert.deepEqual(await targets(), []);
  });
}

test('the login of a target comes from the Secret of the volume', async () => {
  const { deps, calls, start } = await machine({
    chapAuthSession: true,
    secretRef: { name: 'chap', namespace: 'storage' },
  });
  const data = { 'node.session.auth.username': 'dXNlcg==', 'node.session.auth.password': 'aHVzaA==' };
  deps.objects.secret = async (namespace, name) => ({ metadata: { name, namespace }, data });
  await start().prepare(claimPod('u1'), signal);
  const updates = calls.filter((call) => call.includes('auth')).map((call) => call.split(' -n ')[1]);
  assert.deepEqual(updates, [
    'node.session.auth.authmethod -v CHAP',
    'node.session.auth.username -v user',
    'node.session.auth.password -v hush',
  ]);
});

test('a volume with its own initiator name has its own interface', async () => {
  const { calls, targets, start } = await machine({ initiatorName: 'iqn.2026-01.example:node' });
  const volumes = start();
  await volumes.prepare(claimPod('u1'), signal);
  const iface = 'iscsiadm -m iface -I 10.0.0.1:3260:pv';
  assert.deepEqual(
    calls.filter((call) => call.startsWith(iface)),
    [
      `${iface} -o new`,
      `${iface} -o update -n iface.initiatorname -v iqn.2026-01.example:node`,
      `${iface} -o update -n iface.transport_name -v tcp`,
    ],
  );
  assert.equal((await targets())[0], NODE.replace('iface-default', 'iface-10.0.0.1:3260:pv'));
  await volumes.release(claimPod('u1'), signal);
  assert.equal(calls.at(-1), `${iface} -o delete`);
});

test('a disk of mode Block that could not be mapped is logged out when its pod is deleted', async () => {
  const { fs, calls, start } = await machine({}, { volumeMode: 'Block' });
  const pod = claimPod('u1', { isBlock: true });
  await assert.rejects(start().prepare(pod, signal), {
    reason: 'FailedMapVolume',
    message: 'MapVolume.MapBlockVolume failed for volume "pv" : exec: "losetup": executable file not found in $PATH',
  });
  await fs.remove('/k/pods/u1/volumeDevices/kubernetes.io~iscsi/pv');
  await fs.writeFile('/k/pods/u1/volumeDevices/kubernetes.io~iscsi/pv', ''); // as if killed before the link was created
  await start().release(pod, signal);
  assert.ok(calls.some((call) => call.includes('--logout')));
});

test('a disk of mode Block is mapped for the pod', async () => {
  const { fs, install, targets, start } = await machine({}, { volumeMode: 'Block' });
  install('losetup', async () => 0);
  const volumes = start();
  const pod = claimPod('u1', { isBlock: true });
  await volumes.prepare(pod, signal);
  const link = '/k/pods/u1/volumeDevices/kubernetes.io~iscsi/pv';
  const global = NODE.replace('/iface-', '/volumeDevices/iface-');
  assert.deepEqual([...volumes.devices('u1')], [['data', { path: link, readOnly: false, globalMapPath: global }]]);
  assert.equal(await fs.readLink(link), '/dev/sdb');
  assert.deepEqual(await targets(), [`${global}/u1`]);
  await start().release(pod, signal);
  assert.deepEqual(await targets(), []);
  assert.equal(await fs.lstat(global), undefined);
});
