import assert from 'node:assert/strict';
import test from 'node:test';
import { matchingCredentials } from './matching-credentials.ts';
import type { LoginSource } from './registry-login.ts';

/** Logins whose user names are the addresses that they are for. */
function source(...places: string[]): LoginSource {
  const config = new Map(places.map((place) => [place, { username: place, password: '', email: '' }]));
  return { config, owner: { kind: 'node' } };
}

const lookups: Record<string, { places: string[]; repository: string; tried: string[] }> = {
  'the host': { places: ['gcr.io'], repository: 'gcr.io/team/app', tried: ['gcr.io'] },
  'another host': { places: ['gcr.io'], repository: 'quay.io/team/app', tried: [] },
  'a scheme, which is ignored': { places: ['http://gcr.io'], repository: 'gcr.io/app', tried: ['http://gcr.io'] },
  'the longer path first': {
    places: ['gcr.io', 'gcr.io/team', 'gcr.io/other'],
    repository: 'gcr.io/team/app',
    tried: ['gcr.io/team', 'gcr.io'],
  },
  'a path with the same prefix': { places: ['gcr.io/te'], repository: 'gcr.io/team/app', tried: ['gcr.io/te'] },
  'the API version, which is ignored': {
    places: ['https://gcr.io/v2/', 'gcr.io/v1/team'],
    repository: 'gcr.io/team/app',
    tried: ['gcr.io/v1/team', 'https://gcr.io/v2/'],
  },
  'a port': { places: ['localhost:5000', 'localhost'], repository: 'localhost:5000/app', tried: ['localhost:5000'] },
  'an IPv6 address': { places: ['[::1]:5000'], repository: '[::1]:5000/app', tried: ['[::1]:5000'] },
  'a wildcard for one part of the host': {
    places: ['*.example.com', 'registry.*.com', 'reg*.example.com', '*.com'],
    repository: 'registry.example.com/app',
    tried: ['registry.*.com', 'reg*.example.com', '*.example.com'],
  },
  'Docker Hub by its old name': {
    places: ['https://index.docker.io/v1/'],
    repository: 'docker.io/library/busybox',
    tried: ['https://index.docker.io/v1/'],
  },
  'Docker Hub by its new name first': {
    places: ['https://index.docker.io/v1/', 'docker.io'],
    repository: 'docker.io/library/busybox',
    tried: ['docker.io'],
  },
  'an invalid address': { places: ['gcr.io:abc', 'gcr.io'], repository: 'gcr.io/app', tried: ['gcr.io'] },
  'a malformed pattern': { places: ['x[a.io', '[a-b].io'], repository: 'a.io/app', tried: [] },
};

for (const [name, { places, repository, tried }] of Object.entries(lookups)) {
  test(`matchingCredentials() handles ${name}`, () => {
    const found = matchingCredentials(repository, [source(...places)]);
    assert.deepEqual(
      found.map(({ login }) => login.username),
      tried,
    );
  });
}

test('matchingCredentials() keeps the order of the sources for one address', () => {
  const owner = { kind: 'secret', secret: { uid: 'u', namespace: 'n', name: 's' } } as const;
  const found = matchingCredentials('gcr.io/app', [{ ...source('gcr.io'), owner }, source('https://gcr.io')]);
  assert.deepEqual(
    found.map((each) => [each.login.username, each.owner]),
    [
      ['gcr.io', owner],
      ['https://gcr.io', { kind: 'node' }],
    ],
  );
});
