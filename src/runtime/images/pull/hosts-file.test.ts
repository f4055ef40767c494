import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HostEntry, parseHostsFile } from './hosts-file.ts';

const FILE = '/certs.d/example.com/hosts.toml';
const all = new Set(['pull', 'resolve']);
const endpoint = (scheme: 'http' | 'https', authority: string, path = '/v2') => ({ scheme, authority, path });
/** A host with only a URL. */
const plain = (where: HostEntry['endpoint']) => ({ endpoint: where, capabilities: all, headers: [] });

const CASES: Record<string, { readonly text: string; readonly hosts: readonly unknown[] }> = {
  'only a server': {
    text: 'server = "https://registry.example.com"',
    hosts: [plain(endpoint('https', 'registry.example.com'))],
  },
  'a server without a scheme': { text: 'server = "docker.io"', hosts: [plain(endpoint('https', 'docker.io'))] },
  'an empty table, which means the registry': { text: '[host]', hosts: [plain(undefined)] },
  'mirrors in their order before the registry': {
    text: '[host."https://b.example.com"]\n[host."http://a.example.com:5000"]\n[host."c"]',
    hosts: [
      plain(endpoint('https', 'b.example.com')),
      plain(endpoint('http', 'a.example.com:5000')),
      plain(endpoint('https', 'c')),
      plain(undefined),
    ],
  },
  'all settings of a host': {
    text: `
server = "https://s"
[host."https://m"]
  capabilities = ["Pull", "push", "referrers"]
  ca = "ca.pem"
  client = [["c.cert", "/k/c.key"], ["both.pem", ""]]
  skip_verify = true
  dial_timeout = "1.5s"
  [host."https://m".header]
    x-one = "1"
    x-many = ["a", "b"]
`,
    hosts: [
      {
        endpoint: endpoint('https', 'm'),
        capabilities: new Set(['pull']),
        authorityFiles: ['/certs.d/example.com/ca.pem'],
        clientFiles: [
          { certificate: '/certs.d/example.com/c.cert', key: '/k/c.key' },
          { certificate: '/certs.d/example.com/both.pem', key: undefined },
        ],
        skipVerify: true,
        headers: [
          ['x-one', '1'],
          ['x-many', 'a'],
          ['x-many', 'b'],
        ],
        dialTimeoutMs: 1500,
      },
      plain(endpoint('https', 's')),
    ],
  },
  'settings of the server, at the top': {
    text: 'server = "https://s"\nca = ["/a.pem", "b.pem"]\nclient = "c.pem"\ncapabilities = ["resolve"]',
    hosts: [
      {
        ...plain(endpoint('https', 's')),
        capabilities: new Set(['resolve']),
        authorityFiles: ['/a.pem', '/certs.d/example.com/b.pem'],
        clientFiles: [{ certificate: '/certs.d/example.com/c.pem', key: undefined }],
      },
    ],
  },
  'settings without a server': {
    text: 'ca = "/a.pem"\ncapabilities = ["pull"]',
    hosts: [{ ...plain(undefined), authorityFiles: ['/a.pem'] }],
  },
  'paths, with and without /v2': {
    text: [
      '[host."https://a/us/"]',
      '[host."https://b/v2/up"]\noverride_path = true',
      '[host."https://c/x/v2"]',
      '[host."https://d"]\noverride_path = true',
      '[host."https://e/x/../y//z"]',
    ].join('\n'),
    hosts: [
      plain(endpoint('https', 'a', '/us/v2')),
      plain(endpoint('https', 'b', '/v2/up')),
      plain(endpoint('https', 'c', '/x/v2')),
      plain(endpoint('https', 'd', '')),
      plain(endpoint('https', 'e', '/y/z/v2')),
      plain(undefined),
    ],
  },
};

for (const [what, { text, hosts }] of Object.entries(CASES)) {
  test(`parseHostsFile() reads ${what}`, () => assert.deepEqual(parseHostsFile(text, FILE), hosts));
}

const REJECTED: Record<string, string> = {
  'server = "x"\nserver = "y"': '/certs.d/example.com/hosts.toml:2: Invalid TOML document: ',
  'sevrer = "x"': `${FILE}: sevrer: unknown field`,
  '[host."https://m"]\nskip-verify = true': `${FILE}: host."https://m".skip-verify: unknown field`,
  '[host."https://m"]\nserver = "x"': `${FILE}: host."https://m".server: unknown field`,
  '[host."https://m"]\nskip_verify = "yes"': `${FILE}: host."https://m".skip_verify: must be true or false`,
  '[host."https://m"]\ncapabilities = ["pull", "fly"]': `${FILE}: host."https://m".capabilities: unknown capability "fly"`,
  '[host."https://m"]\ncapabilities = "pull"': `${FILE}: host."https://m".capabilities: must be a string or a list of strings`,
  'ca = 5': `${FILE}: ca: must be a string or a list of strings`,
  'client = [["a", "b", "c"]]': `${FILE}: client: a pair has two paths`,
  'client = true': `${FILE}: client: must be a path, or a list of paths or pairs of them`,
  'dial_timeout = "soon"': `${FILE}: dial_timeout: time: invalid duration "soon"`,
  'dial_timeout = "-1s"': `${FILE}: dial_timeout: must be greater than 0`,
  'header = "x"': `${FILE}: header: must be a table`,
  '[header]\n"a b" = "x"': `${FILE}: header.a b: is not a header name`,
  '[header]\nhost = "x"': `${FILE}: header.host: cannot be set`,
  '[header]\nx = "a\\nb"': `${FILE}: header.x: has a character that is not allowed in headers`,
  'server = "ftp://x"': `${FILE}: server: "ftp://x" is not a registry URL`,
  'server = "https://me:secret@x"': `${FILE}: server: "https://me:secret@x" is not a registry URL`,
  '[host."https://m?x=1"]': `${FILE}: host."https://m?x=1": "https://m?x=1" is not a registry URL`,
  'host = ["x"]': `${FILE}: host: must be a table`,
};

for (const [text, message] of Object.entries(REJECTED)) {
  test(`parseHostsFile() rejects ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => parseHostsFile(text, FILE),
      (error: Error) => {
        assert.equal(error.name, 'HostsFileError');
        assert.equal(error.message.slice(0, message.length), message);
        return true;
      },
    );
  });
}
