import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEARCH_PATH } from '../pod-network/search-path.ts';
import { daemonEnvironment } from './programs.ts';

test('daemonEnvironment() hands on proxies and nothing else', () => {
  const ours = { PATH: '/home/me/bin', HOME: '/home/me', HTTPS_PROXY: 'http://proxy:3128', no_proxy: '10.0.0.0/8' };
  assert.deepEqual(daemonEnvironment(ours), {
    PATH: SEARCH_PATH,
    HTTPS_PROXY: 'http://proxy:3128',
    no_proxy: '10.0.0.0/8',
  });
});
