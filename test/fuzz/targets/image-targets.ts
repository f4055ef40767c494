import {
  ImageNameError,
  parseImageName,
  referenceError,
  withDefaultTag,
  withoutTagAndDigest,
} from '../../../src/base/image-name.ts';
import { DockerConfigError, parseDockerConfigJson, parseDockercfg } from '../../../src/kubelet/images/docker-config.ts';
import { ProviderError, parseProviderResponse } from '../../../src/kubelet/images/provider-exchange.ts';
import {
  matchesRegistry,
  parseRegistryPattern,
  RegistryPatternError,
} from '../../../src/kubelet/images/registry-pattern.ts';
import { parseImageConfig } from '../../../src/runtime/images/image-config.ts';
import { normalizeReference } from '../../../src/runtime/images/image-reference.ts';
import { choosePlatform, parseManifest, platformsText } from '../../../src/runtime/images/manifest.ts';
import { parseChallenge } from '../../../src/runtime/images/pull/challenge.ts';
import { parseHostsFile } from '../../../src/runtime/images/pull/hosts-file.ts';
import { HostsFileError } from '../../../src/runtime/images/pull/hosts-file-error.ts';
import { parseRetryAfterMs } from '../../../src/runtime/images/pull/registry-error.ts';
import { type FuzzTarget, requireProperty, textOf, texts } from '../fuzz-target.ts';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const MEDIA = 'application/vnd.oci.image.manifest.v1+json';

/** Manifests and indexes of OCI and Docker, and the choice of a platform. */
export const OCI_MANIFEST: FuzzTarget = {
  name: 'oci-manifest',
  seeds: texts(
    JSON.stringify({
      schemaVersion: 2,
      config: { mediaType: MEDIA, digest: DIGEST, size: 1 },
      layers: [{ digest: DIGEST, size: 2, urls: ['https://a'] }],
    }),
    JSON.stringify({
      schemaVersion: 2,
      manifests: [
        {
          digest: DIGEST,
          size: 3,
          platform: { os: 'linux', architecture: 'arm', variant: 'v7', 'os.features': [] },
          annotations: { a: 'b' },
        },
      ],
    }),
    JSON.stringify({ schemaVersion: 1 }),
  ),
  tokens: [
    '"platform":',
    '"architecture":"armhf"',
    '"variant":"8"',
    '"layers":',
    '"manifests":',
    '"digest":',
    '"size":-1',
    'armel',
    'i386',
    DIGEST,
  ],
  errors: [SyntaxError],
  run(input) {
    const manifest = parseManifest(input);
    const list = manifest.kind === 'index' ? manifest.manifests : [manifest.config, ...manifest.layers];
    requireProperty(
      list.every(({ size }) => Number.isSafeInteger(size) && size >= 0),
      'a size is out of range',
    );
    requireProperty(
      list.every(({ digest }) => /^sha(256|512):[0-9a-f]+$/.test(digest)),
      'a digest could be a path',
    );
    const chosen = ['amd64', 'arm64', 'arm', 's390x'].map((each) => choosePlatform(list, each));
    return { manifest, chosen, text: platformsText(list) };
  },
};

export const IMAGE_CONFIG: FuzzTarget = {
  name: 'image-config',
  seeds: texts(
    JSON.stringify({
      architecture: 'amd64',
      os: 'linux',
      config: {
        User: '1000:1000',
        Env: ['A=b'],
        Entrypoint: ['/e'],
        Cmd: ['c'],
        WorkingDir: '/w',
        StopSignal: 'SIGINT',
        Volumes: { '/v': {} },
        Labels: { a: 'b' },
      },
      rootfs: { type: 'layers', diff_ids: [DIGEST] },
    }),
  ),
  tokens: ['"rootfs":', '"Volumes":', '"Env":', '"diff_ids":', '"Labels":'],
  errors: [SyntaxError],
  run(input) {
    const parsed = parseImageConfig(input);
    const { env, cmd, entrypoint, labels } = parsed.config;
    requireProperty(
      [...env, ...cmd, ...entrypoint, ...Object.values(labels)].every((each) => typeof each === 'string'),
      'not a text',
    );
    return parsed;
  },
};

export const IMAGE_NAME: FuzzTarget = {
  name: 'image-name',
  seeds: texts(
    'busybox',
    'docker.io/library/busybox:1.36',
    `localhost:5000/a/b-c__d.e@${DIGEST}`,
    '[fe80::1]:443/x:y',
    'EXAMPLE.com/A:b',
  ),
  tokens: ['@sha256:', DIGEST, 'localhost/', ':latest', '__', 'index.docker.io/', 'library/'],
  errors: [ImageNameError],
  run(input) {
    const text = textOf(input);
    const error = referenceError(text);
    const withoutTag = withoutTagAndDigest(text);
    const name = parseImageName(text);
    const full = normalizeReference(text);
    requireProperty(full !== undefined && normalizeReference(full) === full, 'a full name is not its own full name');
    requireProperty(parseImageName(withDefaultTag(text)).path === name.path, 'the default tag changes the name');
    requireProperty(!name.path.split('/').includes('..') && !full.includes('\0'), 'a name is not a path');
    return { name, error, withoutTag };
  },
};

export const CHALLENGE: FuzzTarget = {
  name: 'challenge',
  seeds: texts(
    'Bearer realm="https://auth.example/token",service="r",scope="repository:a:pull"',
    'Basic realm="x"',
    'Negotiate abc==, Bearer realm=x , Digest a="\\"b"',
  ),
  tokens: ['Bearer ', 'Basic ', 'realm=', 'scope="', '\\"', ', '],
  errors: [],
  run: (input) => parseChallenge(Buffer.from(input).toString('latin1')),
};

export const RETRY_AFTER: FuzzTarget = {
  name: 'retry-after',
  seeds: texts('120', 'Wed, 21 Oct 2015 07:28:00 GMT', 'Fri, 31 Feb 2030 00:00:00 GMT'),
  tokens: ['Jan', 'GMT', 'Mon, '],
  errors: [],
  run(input) {
    const ms = parseRetryAfterMs(textOf(input), 1_700_000_000_000);
    requireProperty(ms === undefined || (Number.isFinite(ms) && ms >= 0), 'not a time');
    return ms;
  },
};

export const HOSTS_FILE: FuzzTarget = {
  name: 'hosts-file',
  seeds: texts(
    'server = "https://docker.io"\n[host."https://mirror.example:5000/v2"]\n  capabilities = ["pull", "resolve"]\n  skip_verify = true\n  ca = ["/a.pem"]\n  client = [["/c.pem", "/k.pem"]]\n  [host."https://mirror.example:5000/v2".header]\n    x = ["y"]\n',
    'server = "http://a"\noverride_path = true\ndial_timeout = "3s"\nclient = "/c.pem"\n',
  ),
  tokens: [
    '[host."http://a"]',
    'capabilities = ',
    'dial_timeout = "1h"',
    '[[host]]',
    'header = ',
    '"""',
    "'''",
    '1979-05-27T07:32:00Z',
  ],
  errors: [HostsFileError],
  run: (input) => parseHostsFile(textOf(input), '/certs.d/x/hosts.toml'),
};

const SECRET = 'c2VjcmV0LXdvcmQ6aHVudGVyMg';

/** Errors of documents with credentials do not quote them. */
function withoutSecret<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const isShown = error instanceof Error && (error.message.includes(SECRET) || error.message.includes('hunter2'));
    requireProperty(!isShown, 'the error shows a credential');
    throw error;
  }
}

export const DOCKER_CONFIG: FuzzTarget = {
  name: 'docker-config',
  seeds: texts(
    `{"auths":{"registry.example":{"auth":"${SECRET}"},"b":{"username":"u","password":"hunter2","email":"e"}}}`,
    `{"https://index.docker.io/v1/":{"auth":"${SECRET}","identitytoken":"t"}}`,
  ),
  tokens: ['"auths":', '"auth":', '"username":', SECRET, '=='],
  errors: [DockerConfigError],
  run(input) {
    const text = textOf(input);
    const first = withoutSecret(() => attempt(() => parseDockerConfigJson(text)));
    return [first, withoutSecret(() => parseDockercfg(text))];
  },
};

function attempt(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    if (error instanceof DockerConfigError) return error.message;
    throw error;
  }
}

const PROVIDER_VERSION = 'credentialprovider.kubelet.k8s.io/v1';

export const PROVIDER_RESPONSE: FuzzTarget = {
  name: 'provider-response',
  seeds: texts(
    JSON.stringify({
      apiVersion: PROVIDER_VERSION,
      kind: 'CredentialProviderResponse',
      cacheKeyType: 'Image',
      cacheDuration: '10m',
      auth: { 'a.example': { username: 'u', password: 'hunter2' } },
    }),
  ),
  tokens: ['"cacheKeyType":', '"cacheDuration":', '"Registry"', '"auth":', '"apiVersion":', '{"toString":1}'],
  errors: [ProviderError],
  run: (input) => withoutSecret(() => parseProviderResponse(textOf(input), PROVIDER_VERSION)),
};

export const REGISTRY_PATTERN: FuzzTarget = {
  name: 'registry-pattern',
  pumps: [
    ['', '*a', 'b.io'],
    ['[', 'a', ']x'],
    ['...', '(', ''],
  ],
  seeds: texts('*.example.com:5000/team', 'docker.io', '[::1]:443/a%20b', 'a[b-d]?.\\*.x'),
  tokens: ['*', '?', '[^a-z]', '\\', '%2f', '[', ']'],
  errors: [RegistryPatternError],
  run(input) {
    const text = textOf(input);
    const pattern = parseRegistryPattern(text);
    const names = [`${'a'.repeat(63)}.io/x`, 'a.example.com:5000/team/x', 'docker.io/library/busybox'];
    const matches = names.map((each) => matchesRegistry(pattern, parseRegistryPattern(each)));
    const isPlain = text.length < 1024 && !/[*?[\]\\%]/.test(text);
    requireProperty(!isPlain || matchesRegistry(pattern, pattern), 'a plain address does not match itself');
    return { pattern, matches };
  },
};
