import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RegistryPlace, registryPlace } from './registry-place.ts';

const CASES: Record<string, RegistryPlace> = {
  'docker.io': { scheme: 'https', host: 'registry-1.docker.io', port: 443 },
  'registry.k8s.io': { scheme: 'https', host: 'registry.k8s.io', port: 443 },
  'example.com:5000': { scheme: 'https', host: 'example.com', port: 5000 },
  localhost: { scheme: 'http', host: 'localhost', port: 80 },
  'localhost:5000': { scheme: 'http', host: 'localhost', port: 5000 },
  'localhost:443': { scheme: 'https', host: 'localhost', port: 443 },
  '127.0.0.1:5000': { scheme: 'http', host: '127.0.0.1', port: 5000 },
  '[::1]:5000': { scheme: 'http', host: '::1', port: 5000 },
  '10.0.0.1:5000': { scheme: 'https', host: '10.0.0.1', port: 5000 },
};

for (const [registry, place] of Object.entries(CASES)) {
  test(`registryPlace() finds ${registry}`, () => assert.deepEqual(registryPlace(registry), place));
}
