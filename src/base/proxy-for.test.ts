import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProxyEnvironment, proxyForUrl } from './proxy-for.ts';

const PROXY = 'http://proxy.corp:3128/';
const BOTH = { HTTP_PROXY: 'plain.corp:8080', HTTPS_PROXY: 'http://proxy.corp:3128' };

const CHOICES: Record<string, { url?: string; env: ProxyEnvironment; proxy: string | undefined }> = {
  'nothing is said': { env: {}, proxy: undefined },
  'HTTPS has its own': { env: BOTH, proxy: PROXY },
  'plain HTTP has its own, which is an address without a scheme': {
    url: 'http://r.io/',
    env: BOTH,
    proxy: 'http://plain.corp:8080/',
  },
  'none is for the other scheme': { url: 'http://r.io/', env: { HTTPS_PROXY: PROXY }, proxy: undefined },
  'lower case counts': { env: { https_proxy: PROXY }, proxy: PROXY },
  'upper case counts more': { env: { https_proxy: 'http://other', HTTPS_PROXY: PROXY }, proxy: PROXY },
  'an empty one says nothing': { env: { https_proxy: PROXY, HTTPS_PROXY: '' }, proxy: PROXY },
  'it wants a login': {
    env: { HTTPS_PROXY: 'https://me:s%40ecret@proxy.corp' },
    proxy: 'https://me:s%40ecret@proxy.corp/',
  },
  'the place is this machine': { url: 'https://localhost:5000/', env: BOTH, proxy: undefined },
  'the place is a loopback address': { url: 'http://127.0.0.2:5000/', env: BOTH, proxy: undefined },
  'the place is the loopback address of IPv6': { url: 'https://[::1]/', env: BOTH, proxy: undefined },
  'the exceptions are in lower case': { env: { ...BOTH, no_proxy: 'r.io' }, proxy: undefined },
};

for (const [what, { url = 'https://r.io/v2/', env, proxy }] of Object.entries(CHOICES)) {
  test(`proxyForUrl() where ${what}`, () => {
    assert.equal(proxyForUrl(new URL(url), env), proxy);
  });
}

/** NO_PROXY, and which of these go there directly. */
const PLACES = [
  'https://r.io/',
  'https://sub.r.io/',
  'https://r.io:5000/',
  'https://xr.io/',
  'https://10.1.2.3/',
  'https://10.1.2.3:5000/',
  'https://[fd00::7]/',
  'https://[fd00::7]:5000/',
  'https://b\u00fccher.de/',
];

const EXCEPTIONS: Record<string, readonly string[]> = {
  '': [],
  ' , ,': [],
  '*': PLACES,
  'other.io,*': PLACES,
  'r.io': ['https://r.io/', 'https://sub.r.io/', 'https://r.io:5000/'],
  ' R.IO ': ['https://r.io/', 'https://sub.r.io/', 'https://r.io:5000/'],
  '.r.io': ['https://sub.r.io/'],
  '*.r.io': ['https://sub.r.io/'],
  'r.io:443': ['https://r.io/', 'https://sub.r.io/'],
  'r.io:5000': ['https://r.io:5000/'],
  '10.0.0.0/8': ['https://10.1.2.3/', 'https://10.1.2.3:5000/'],
  '10.1.2.0/30': ['https://10.1.2.3/', 'https://10.1.2.3:5000/'],
  '10.1.2.0/31': [],
  '0.0.0.0/0': ['https://10.1.2.3/', 'https://10.1.2.3:5000/'],
  '10.1.2.3': ['https://10.1.2.3/', 'https://10.1.2.3:5000/'],
  '::ffff:10.1.2.3': ['https://10.1.2.3/', 'https://10.1.2.3:5000/'],
  '10.1.2.3:5000': ['https://10.1.2.3:5000/'],
  '10.1.2': [],
  'fd00::/16': ['https://[fd00::7]/', 'https://[fd00::7]:5000/'],
  '::/0': ['https://[fd00::7]/', 'https://[fd00::7]:5000/'],
  'fd00::7': ['https://[fd00::7]/', 'https://[fd00::7]:5000/'],
  '[fd00::7]': ['https://[fd00::7]/', 'https://[fd00::7]:5000/'],
  '[fd00::7]:5000': ['https://[fd00::7]:5000/'],
  'b\u00fccher.de': ['https://b\u00fccher.de/'],
  ':443': [],
};

for (const [exceptions, direct] of Object.entries(EXCEPTIONS)) {
  test(`proxyForUrl() leaves out what NO_PROXY=${JSON.stringify(exceptions)} is for`, () => {
    const env = { ...BOTH, NO_PROXY: exceptions };
    assert.deepEqual(
      PLACES.filter((place) => proxyForUrl(new URL(place), env) === undefined),
      direct,
    );
  });
}

for (const proxy of ['socks5://proxy:1080', 'http://', 'a proxy', 'http://me:secret@pro xy']) {
  test(`proxyForUrl() refuses ${proxy}, without showing the password`, () => {
    assert.throws(() => proxyForUrl(new URL('https://r.io/'), { HTTPS_PROXY: proxy }), {
      name: 'ProxyError',
      message: 'HTTPS_PROXY: must be an address such as http://proxy.example.com:3128',
    });
  });
}
