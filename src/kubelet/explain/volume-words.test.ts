import assert from 'node:assert/strict';
import { test } from 'node:test';
import { volumeTrouble } from './volume-words.ts';

const spec = {
  containers: [],
  volumes: [
    { name: 'conf', configMap: { name: 'settings' } },
    { name: 'login', secret: { secretName: 'admin' } },
    { name: 'all', projected: { sources: [] } },
  ],
};

const cases: Record<string, string | undefined> = {
  'volume "conf": configmap "settings" not found': 'volume "conf" needs ConfigMap "settings", which does not exist',
  'volume "conf": configmap references non-existent config key: a':
    'volume "conf" needs key "a" of ConfigMap "settings", which does not have it',
  'volume "login": references non-existent secret key: b':
    'volume "login" needs key "b" of Secret "admin", which does not have it',
  'volume "all": references non-existent secret key: b':
    'volume "all" needs key "b" of an object, which does not have it',
  'volume "data" is of type nfs, which is not supported yet':
    'volume "data" is of type nfs, which is not supported yet',
  'ENOSPC: no space left on device': undefined,
};

for (const [error, text] of Object.entries(cases)) {
  test(`volumeTrouble() puts into plain words: ${error}`, () => assert.equal(volumeTrouble(spec, error)?.text, text));
}
