import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { OciSpec } from '../oci/oci-spec.ts';
import { noAppArmor } from '../spec/load-apparmor-profile.ts';
import { createSpecBuilder } from '../spec/spec-builder.ts';
import { type Config, containerConfig, differences, validRequest } from '../spec/testing/valid-request.ts';
import { parseCdiSpec } from './parse-cdi-spec.ts';

const GPU = {
  cdiVersion: '0.6.0',
  kind: 'acme.com/gpu',
  containerEdits: {
    env: ['ACME=1'],
    mounts: [{ hostPath: '/opt/acme', containerPath: '/acme', options: ['ro', 'bind'] }],
  },
  devices: [
    { name: '0', containerEdits: { deviceNodes: [{ path: '/dev/gpu0' }], additionalGids: [0, 44] } },
    {
      name: '1',
      containerEdits: { deviceNodes: [{ path: '/dev/gpu1', hostPath: '/dev/gpu0', permissions: 'r', uid: 3 }] },
    },
  ],
};

async function build(files: Record<string, string>, config: Config): Promise<OciSpec> {
  const { fs } = createMemoryHost();
  for (const folder of ['/etc/cdi', '/run/cdi', '/dev', validRequest().rootfs]) await fs.makeDirectory(folder);
  fs.createDevice('/dev/gpu0', 'characterDevice', { major: 195, minor: 0 }, 0o660);
  for (const [path, text] of Object.entries(files)) await fs.writeFile(path, text);
  const builder = createSpecBuilder({ fs, appArmor: noAppArmor, cdiSpecDirs: ['/etc/cdi', '/run/cdi', '/none'] });
  return builder(validRequest({ container: containerConfig(config) }), new AbortController().signal);
}

const gpu0: Config = { CDIDevices: [{ name: 'acme.com/gpu=0' }] };
const allow = { allow: true, type: 'c', major: 195, minor: 0 };
const deny = { allow: false, access: 'rwm' };

test('a CDI device brings its own edits and those of its specification', async () => {
  const before = await build({}, {});
  const after = await build({ '/etc/cdi/acme.json': JSON.stringify(GPU) }, gpu0);
  const { mounts, ...rest } = differences(before, after);
  assert.deepEqual(rest, {
    'process.env': [...before.process.env, 'ACME=1'],
    'process.user.additionalGids': [0, 44],
    'linux.devices': [{ path: '/dev/gpu0', type: 'c', major: 195, minor: 0, fileMode: 0o660, uid: 0, gid: 0 }],
    'linux.resources.devices': [deny, { ...allow, access: 'rwm' }],
  });
  assert.deepEqual(
    after.mounts.filter((mount) => !before.mounts.some((old) => old.destination === mount.destination)),
    [{ destination: '/acme', source: '/opt/acme', options: ['ro', 'bind'] }],
  );
});

test('two CDI devices bring the edits of their specification once, by field or annotation', async () => {
  const config = { ...gpu0, annotations: { 'cdi.k8s.io/x': 'acme.com/gpu=1,acme.com/gpu=0' } };
  const { process, linux, mounts } = await build({ '/etc/cdi/acme.json': JSON.stringify(GPU) }, config);
  assert.equal(process.env.filter((entry) => entry === 'ACME=1').length, 1);
  assert.equal(mounts.filter(({ destination }) => destination === '/acme').length, 1);
  assert.deepEqual(
    linux.devices.map(({ path, uid }) => [path, uid]),
    [
      ['/dev/gpu0', 0],
      ['/dev/gpu1', 3],
    ],
  );
  assert.deepEqual(linux.resources.devices.slice(1), [
    { ...allow, access: 'rwm' },
    { ...allow, access: 'r' },
  ]);
});

const YAML = `cdiVersion: "1.0.0"
kind: acme.com/gpu
devices:
- name: "0"
  containerEdits:
    env: [FROM=yaml]
    intelRdt: {closID: fast}
    hooks:
    - {hookName: createContainer, path: /bin/hook, args: [hook, -x], env: [A=b], timeout: 3}
`;

test('a CDI specification of a later directory takes precedence, also as YAML', async () => {
  const files = { '/etc/cdi/acme.json': JSON.stringify(GPU), '/run/cdi/acme.yaml': YAML, '/run/cdi/README': '!' };
  const before = await build({}, {});
  assert.deepEqual(differences(before, await build(files, gpu0)), {
    'process.env': [...before.process.env, 'FROM=yaml'],
    hooks: { createContainer: [{ path: '/bin/hook', args: ['hook', '-x'], env: ['A=b'], timeout: 3 }] },
    'linux.intelRdt': { closID: 'fast' },
  });
});

const rejections: Record<string, { files: Record<string, string>; code: string; message: string }> = {
  'that two files of one directory define': {
    files: { '/etc/cdi/a.json': JSON.stringify(GPU), '/etc/cdi/b.json': JSON.stringify(GPU) },
    code: 'FailedPrecondition',
    message: 'CDI_devices: CDI device acme.com/gpu=0 is defined in /etc/cdi/a.json and in /etc/cdi/b.json',
  },
  'whose file is broken': {
    files: { '/etc/cdi/a.yaml': 'cdiVersion: "9"' },
    code: 'InvalidArgument',
    message: 'CDI_devices: unresolvable CDI device acme.com/gpu=0; /etc/cdi/a.yaml: unknown cdiVersion "9"',
  },
  'whose device file is missing': {
    files: { '/etc/cdi/a.json': JSON.stringify(GPU).replaceAll('/dev/gpu0', '/dev/none') },
    code: 'FailedPrecondition',
    message: 'CDI_devices: no device at /dev/none',
  },
  'whose device file is of another type': {
    files: { '/etc/cdi/a.json': JSON.stringify(GPU).replace('"path":"/dev/gpu0"', '"path":"/dev/gpu0","type":"b"') },
    code: 'FailedPrecondition',
    message: 'CDI_devices: /dev/gpu0 is of type c, not b',
  },
};

for (const [name, { files, code, message }] of Object.entries(rejections)) {
  test(`a CDI device is rejected ${name}`, async () => {
    await assert.rejects(build(files, gpu0), { code, message });
  });
}

const edited = (containerEdits: object) => ({ ...GPU, containerEdits });
const broken: Record<string, { spec: unknown; message: string }> = {
  'no object': { spec: [], message: 'specification: expected object' },
  'no version': { spec: { kind: 'a/b' }, message: 'cdiVersion: expected text' },
  'a kind without a class': { spec: { ...GPU, kind: 'acme' }, message: 'kind "acme" is not of the form vendor/class' },
  'no devices': { spec: { ...GPU, devices: [] }, message: 'devices: must not be empty' },
  'a duplicate device': {
    spec: { ...GPU, devices: [{ name: 'a' }, { name: 'a' }] },
    message: 'devices[1].name: duplicate name "a"',
  },
  'a device with a blank': {
    spec: { ...GPU, devices: [{ name: 'a b' }] },
    message: 'devices[0].name: invalid name "a b"',
  },
  'an unknown edit': {
    spec: edited({ netDevices: [] }),
    message: 'containerEdits.netDevices: not supported',
  },
  'a variable without a value': {
    spec: edited({ env: ['A'] }),
    message: 'containerEdits.env[0]: "A" is not of the form name=value',
  },
  'an unknown hook': {
    spec: edited({ hooks: [{ hookName: 'x', path: '/x' }] }),
    message: 'containerEdits.hooks[0].hookName: unknown hook "x"',
  },
  'a mount without a source': {
    spec: edited({ mounts: [{ containerPath: '/x' }] }),
    message: 'containerEdits.mounts[0].hostPath: expected text',
  },
  'unknown permissions': {
    spec: edited({ deviceNodes: [{ path: '/x', permissions: 'x' }] }),
    message: 'containerEdits.deviceNodes[0].permissions: invalid',
  },
};

for (const [name, { spec, message }] of Object.entries(broken)) {
  test(`parseCdiSpec() rejects ${name}`, () => {
    assert.throws(() => parseCdiSpec(spec), { message });
  });
}
