import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OciMount } from '../oci/oci-spec.ts';
import { mountPropagation } from './gather-mounts.ts';
import { checkMounts } from './mount-rules.ts';
import { containerMounts } from './mounts.ts';
import type { MountSource } from './spec-facts.ts';
import type { SpecRequest } from './spec-request.ts';
import { type Config, containerConfig, validFacts, validRequest } from './testing/valid-request.ts';

const standard = containerMounts(validRequest(), validFacts()).mounts;

function mountsOf(
  mounts: NonNullable<Config['mounts']>,
  sources: readonly MountSource[],
  request: Partial<SpecRequest> = {},
) {
  const facts = validFacts({ mountSources: new Map(sources.entries()) });
  return containerMounts(validRequest({ container: containerConfig({ mounts }), ...request }), facts);
}

function added(list: readonly OciMount[]): OciMount[] {
  return list.filter(({ destination }) => !standard.some((mount) => mount.destination === destination));
}

const bind = (destination: string, source: string, ...options: string[]): OciMount => ({
  destination,
  type: 'bind',
  source,
  options: ['rbind', ...options],
});

test('containerMounts() sorts by depth and keeps the order otherwise', () => {
  const { mounts } = mountsOf(
    [
      { containerPath: '/a/b/c', hostPath: '/1' },
      { containerPath: '/z/', hostPath: '/2', readonly: true },
      { containerPath: '/a', hostPath: '/3' },
    ],
    [{ path: '/1' }, { path: '/real/2' }, { path: '/3' }],
  );
  assert.deepEqual(added(mounts), [
    bind('/z/', '/real/2', 'rprivate', 'ro'),
    bind('/a', '/3', 'rprivate', 'rw'),
    bind('/a/b/c', '/1', 'rprivate', 'rw'),
  ]);
});

test('containerMounts() omits defaults that the container mounts itself', () => {
  const destinations = (containerPath: string) =>
    mountsOf([{ containerPath, hostPath: '/h' }], [{ path: '/h' }]).mounts.map(({ destination }) => destination);
  assert.equal(destinations('/etc/hosts/').filter((path) => path.startsWith('/etc/hosts')).length, 1);
  assert.deepEqual(
    destinations('/dev').filter((path) => path.startsWith('/dev')),
    ['/dev', '/dev/shm'],
  );
  assert.equal(destinations('/sys/fs/cgroup').filter((path) => path === '/sys/fs/cgroup').length, 1);
});

test('containerMounts() sets the requested propagation', () => {
  const slave = mountsOf(
    [{ containerPath: '/m', hostPath: '/h', propagation: 1 }],
    [{ path: '/h', propagation: 'slave' }],
  );
  assert.deepEqual(added(slave.mounts), [bind('/m', '/h', 'rslave', 'rw')]);
  assert.equal(slave.rootfsPropagation, 'rslave');
  const both = mountsOf(
    [
      { containerPath: '/m', hostPath: '/h', propagation: 2 },
      { containerPath: '/n', hostPath: '/h', propagation: 1 },
    ],
    [
      { path: '/h', propagation: 'shared' },
      { path: '/h', propagation: 'shared' },
    ],
  );
  assert.deepEqual(added(both.mounts), [bind('/m', '/h', 'rshared', 'rw'), bind('/n', '/h', 'rslave', 'rw')]);
  assert.equal(both.rootfsPropagation, 'rshared');
});

test('containerMounts() sets recursive read-only', () => {
  const mount = { containerPath: '/m', hostPath: '/h', readonly: true, recursiveReadOnly: true };
  assert.deepEqual(added(mountsOf([mount], [{ path: '/h' }]).mounts), [bind('/m', '/h', 'rprivate', 'rro')]);
});

test('containerMounts() mounts image volumes read-only, not executable and without mappings', () => {
  const mount = { containerPath: '/m', image: { image: 'x' }, uidMappings: [{ length: 1 }] };
  assert.deepEqual(added(mountsOf([mount], [{ path: '/v/0' }]).mounts), [
    bind('/m', '/v/0', 'rprivate', 'ro', 'nosuid', 'nodev', 'noexec'),
  ]);
});

test('containerMounts() ignores the path in the image that kubelet sends for a mount without one', () => {
  const mount = { containerPath: '/m', hostPath: '/h', imageSubPath: 'sub' };
  checkMounts(validRequest({ container: containerConfig({ mounts: [mount] }) }));
  assert.deepEqual(added(mountsOf([mount], [{ path: '/h' }]).mounts), [bind('/m', '/h', 'rprivate', 'rw')]);
});

test('containerMounts() maps IDs unless the source is mapped already', () => {
  const ids = [{ containerId: 0, hostId: 9, length: 5 }];
  const mount = { containerPath: '/m', hostPath: '/h', uidMappings: ids, gidMappings: ids };
  const mapped = [{ containerID: 0, hostID: 9, size: 5 }];
  assert.deepEqual(added(mountsOf([mount], [{ path: '/h' }]).mounts), [
    { ...bind('/m', '/h', 'rprivate', 'rw'), uidMappings: mapped, gidMappings: mapped },
  ]);
  const done = { mappedSources: new Map([[0, '/mapped/0']]) };
  const features = { recursiveReadOnlyMounts: true, userNamespaces: true, idmappedMounts: false };
  assert.deepEqual(added(mountsOf([mount], [{ path: '/mapped/0', mapped: true }], { ...done, features }).mounts), [
    bind('/m', '/mapped/0', 'rprivate', 'rw'),
  ]);
});

test('containerMounts() mounts a directory for each declared volume that is not mounted over', () => {
  const image = { ...validRequest().image, volumes: ['/data', 'var/lib/', '/cache'] };
  const { mounts } = mountsOf([{ containerPath: '/cache/', hostPath: '/h' }], [{ path: '/h' }], { image });
  assert.deepEqual(added(mounts), [
    bind('/cache/', '/h', 'rprivate', 'rw'),
    bind('/data', '/data/volumes/0', 'rprivate', 'rw'),
    bind('/var/lib', '/data/volumes/1', 'rprivate', 'rw'),
  ]);
});

const MOUNTINFO = `20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/a rw
21 20 8:1 / /srv rw,relatime - ext4 /dev/a rw
22 21 8:1 / /srv/a\\040b rw,relatime shared:3 master:2 - ext4 /dev/a rw
23 21 8:1 / /srv/s rw master:2 propagate_from:1 - ext4 /dev/a rw
24 20 8:1 / /home rw shared:7 - ext4 /dev/a rw
25 20 8:1 / /home rw - ext4 /dev/a rw
`;
const propagations = {
  '/x': 'shared',
  '/srvx': 'shared',
  '/srv/x': 'private',
  '/srv/a b/c': 'shared',
  '/srv/s': 'slave',
  '/home/x': 'private',
};

for (const [path, propagation] of Object.entries(propagations)) {
  test(`mountPropagation() finds ${path} on a ${propagation} mount`, () => {
    assert.equal(mountPropagation(path, MOUNTINFO), propagation);
  });
}
