import { parse } from 'yaml';
import { decodeManifest } from '../../../src/api/decode/decode-manifest.ts';
import { parseYaml, type YamlNode } from '../../../src/api/decode/yaml-tree.ts';
import { parseKubeconfig } from '../../../src/app/cluster/kubeconfig.ts';
import { KubeconfigError } from '../../../src/app/cluster/kubeconfig-document.ts';
import { decodeProviders } from '../../../src/app/config/decode-credential-providers.ts';
import { parseConfigFile } from '../../../src/app/config/parse-config-file.ts';
import { DurationError, formatDuration, parseDuration } from '../../../src/base/duration.ts';
import { parseQuantity, QuantityError } from '../../../src/base/quantity.ts';
import { formatNanoTime, parseNanoTime, TimeError } from '../../../src/base/rfc3339.ts';
import { ApiError } from '../../../src/kubelet/api-client/api-server.ts';
import { errorFromResponse } from '../../../src/kubelet/api-client/api-status.ts';
import { CredentialError, parseExecCredential } from '../../../src/kubelet/api-client/exec-credential.ts';
import { wholeLines } from '../../../src/kubelet/api-client/http-watch.ts';
import { parseStaticPods } from '../../../src/kubelet/sources/parse-static-pods.ts';
import { asStream, bytesOf, type FuzzTarget, randomChunks, requireProperty, textOf, texts } from '../fuzz-target.ts';

const YAML_TOKENS = [
  '- ',
  ': ',
  '&a ',
  '*a',
  '<<: *a',
  '|\n  ',
  '>-\n ',
  '---\n',
  '...\n',
  '!!str ',
  '!!binary ',
  '? ',
  '# c\n',
  '0o17',
  '.inf',
  '~',
  '%YAML 1.1\n',
  '\t',
  '{a: b}',
  '!<tag:x> ',
];

export const YAML: FuzzTarget = {
  name: 'yaml',
  testInputs: 25,
  pumps: [['[&a x', ', *a', ']']],
  seeds: texts(
    'a: 1\nb: [x, "y", {z: ~}]\n',
    '- &a {k: v}\n- *a\n- <<: *a\n  l: |\n    text\n',
    '---\na: on\n---\nb: 0644\n...\n',
    '{"json": [1, 2.5, null, true, "\\u00e9"]}',
  ),
  tokens: YAML_TOKENS,
  errors: [],
  weightPerByte: 4096,
  run(input) {
    const text = textOf(input);
    const { documents, positionOf } = parseYaml(text);
    for (const document of documents) {
      const offsets = 'errors' in document ? document.errors.map(({ offset }) => offset) : [document.node.offset];
      requireProperty(
        offsets.every((offset) => positionOf(offset).line >= 1),
        'an error has no line',
      );
    }
    requireSameJson(text, documents[0] && 'node' in documents[0] ? documents[0].node : undefined);
    return documents;
  },
};

/** JSON is YAML: what JSON.parse accepts, the tree holds too. */
function requireSameJson(text: string, node: YamlNode | undefined): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  if (typeof value !== 'object' || value === null || node === undefined) return;
  requireProperty(node.kind === (Array.isArray(value) ? 'list' : 'map'), 'JSON is read as a different kind of value');
  if (node.kind === 'map')
    requireProperty(
      Object.keys(value).every(
        (key) => node.entries.has(key) || key.includes('\\') || key === '<<' || parse(text) !== undefined,
      ),
      'a key is missing',
    );
}

const POD = `apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}, annotations: {a: b}}
spec:
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 3
  securityContext: {runAsUser: 1000, fsGroup: 2, sysctls: [{name: net.a, value: "1"}]}
  volumes:
  - {name: tmp, emptyDir: {sizeLimit: 1Gi, medium: Memory}}
  - {name: host, hostPath: {path: /x, type: Directory}}
  containers:
  - name: main
    image: busybox:1.36
    command: [sh, -c, "echo $(A)"]
    env: [{name: A, value: b}, {name: P, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
    ports: [{containerPort: 80, hostPort: 8080, protocol: TCP, name: http}]
    resources: {limits: {cpu: 500m, memory: 64Mi}, requests: {cpu: "0.1"}}
    livenessProbe: {httpGet: {path: /, port: http}, periodSeconds: 5}
    lifecycle: {preStop: {exec: {command: [sleep, "1"]}}}
    volumeMounts: [{name: tmp, mountPath: /tmp, subPath: a}]
    securityContext: {capabilities: {add: [NET_ADMIN]}, privileged: false}
`;
const OBJECTS = `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: v}}
- {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: v}, data: {x: aGk=}}
---
{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"r"},"handler":"h"}
`;
const POD_TOKENS = [
  ...YAML_TOKENS,
  'initContainers:',
  'restartPolicy: Always',
  'exec:',
  'tcpSocket:',
  'grpc:',
  'projected:',
  'configMap:',
  'valueFrom:',
  'hostNetwork: true',
  'hostUsers: false',
  'kind: PodList',
  'quantity',
  '1e3',
  '-1',
  'seccompProfile: {type: Localhost}',
  'podIP',
  'dnsConfig:',
  'hostAliases:',
  'topologySpreadConstraints:',
  'resourceClaims:',
  'ephemeralContainers:',
];

/** A manifest from its text to its pods: decoded, defaulted, validated. Errors are values. */
export const STATIC_PODS: FuzzTarget = {
  name: 'static-pods',
  testInputs: 20,
  pumps: [['[&a x', ', *a', ']']],
  seeds: texts(
    POD,
    OBJECTS,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    }),
  ),
  tokens: POD_TOKENS,
  errors: [],
  weightPerByte: 8192,
  run(input) {
    const text = textOf(input);
    const manifest = decodeManifest(text, { file: 'web.yaml' });
    for (const { line, column } of manifest.errors) requireProperty(line >= 1 && column >= 1, 'an error has no place');
    const origin = { source: 'file', location: 'web.yaml', nodeName: 'node-1', nowMs: 0 } as const;
    const parsed = parseStaticPods(text, { ...origin, references: 'manifests' });
    requireProperty(parsed.isComplete === (parsed.errors.length === 0), 'complete with errors');
    for (const { metadata, spec } of parsed.pods) {
      requireProperty(/^[a-z0-9.-]{1,253}$/.test(metadata.name ?? ''), 'a pod has an invalid name');
      requireProperty(spec.containers.length > 0, 'a pod has no containers');
      requireProperty(
        spec.containers.every(({ name }) => /^[a-z0-9-]{1,63}$/.test(name)),
        'a container has an invalid name',
      );
    }
    return { parsed, api: parseStaticPods(text, origin) };
  },
};

const CONFIG = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
syncFrequency: 1m
evictionHard: {memory.available: 100Mi, nodefs.available: "10%"}
clusterDNS: [10.0.0.10]
authentication: {x509: {clientCAFile: /ca.crt}, anonymous: {enabled: false}}
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
maxPods: 110
featureGates: {A: true}
registerWithTaints: [{key: a, effect: NoSchedule}]
`;

export const KUBELET_CONFIG: FuzzTarget = {
  name: 'kubelet-config',
  testInputs: 20,
  pumps: [['apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nclusterDNS: [&a x', ', *a', ']']],
  seeds: texts(CONFIG, '{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","maxPods":5}'),
  tokens: [
    ...YAML_TOKENS,
    'maxPods: ',
    'evictionHard:',
    'cpuCFSQuotaPeriod: 10ms',
    'logging:',
    'tracing:',
    'memory.available',
  ],
  errors: [],
  weightPerByte: 4096,
  run: (input) => parseConfigFile(textOf(input), '/config.yaml'),
};

export const CREDENTIAL_PROVIDERS: FuzzTarget = {
  name: 'credential-providers',
  seeds: texts(
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1',
      kind: 'CredentialProviderConfig',
      providers: [
        {
          name: 'p',
          matchImages: ['*.x'],
          defaultCacheDuration: '1h',
          apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
          args: ['a'],
          env: [{ name: 'A', value: 'b' }],
          tokenAttributes: { serviceAccountTokenAudience: 'a', cacheType: 'Token', requireServiceAccount: true },
        },
      ],
    }),
  ),
  tokens: ['"providers":', '"tokenAttributes":', '"env":', '"matchImages":'],
  errors: [SyntaxError],
  run: (input) => decodeProviders(JSON.parse(textOf(input))),
};

const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://10.0.0.1:6443/", certificate-authority-data: aGk=, proxy-url: http://p:1}}]
users:
- name: u
  user:
    token: secret-word
    exec: {apiVersion: client.authentication.k8s.io/v1, command: ./x, args: [a], env: [{name: A, value: b}], interactiveMode: Never}
`;

export const KUBECONFIG_TARGET: FuzzTarget = {
  name: 'kubeconfig',
  testInputs: 30,
  pumps: [['[&a x', ', *a', ']']],
  seeds: texts(
    KUBECONFIG,
    '{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k","user":""}}],"clusters":[{"name":"k","cluster":{"server":"host:1"}}]}',
  ),
  tokens: [
    ...YAML_TOKENS,
    'server: ',
    'tokenFile: x',
    'client-key-data: ',
    'current-context: ',
    'tls-server-name: a',
    '[::1]',
    'http://',
    'https://[',
  ],
  errors: [KubeconfigError],
  weightPerByte: 4096,
  run(input) {
    try {
      const config = parseKubeconfig(textOf(input), '/etc/kubeconfig');
      requireProperty(/^https?:\/\//.test(config.cluster.server), 'the server is not a URL');
      return config;
    } catch (error) {
      const isShown = error instanceof KubeconfigError && error.message.includes('secret-word');
      requireProperty(!isShown, 'the error shows a credential');
      throw error;
    }
  },
};

const PLUGIN = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: '/x',
  args: [],
  env: [],
} as unknown as Parameters<typeof parseExecCredential>[1];

export const EXEC_CREDENTIAL: FuzzTarget = {
  name: 'exec-credential',
  seeds: texts(
    JSON.stringify({
      apiVersion: PLUGIN.apiVersion,
      kind: 'ExecCredential',
      status: { token: 'secret-word', expirationTimestamp: '2030-01-01T00:00:00Z' },
    }),
    JSON.stringify({
      apiVersion: PLUGIN.apiVersion,
      status: { clientCertificateData: '-----BEGIN CERTIFICATE-----', clientKeyData: 'k' },
    }),
  ),
  tokens: ['"status":', '"token":', '"expirationTimestamp":', '"apiVersion":', '{"toString":1}'],
  errors: [CredentialError],
  run: (input) => parseExecCredential(textOf(input), PLUGIN),
};

/** Responses of an API server, or of a proxy before it. */
export const API_STATUS: FuzzTarget = {
  name: 'api-status',
  seeds: texts(
    JSON.stringify({
      kind: 'Status',
      status: 'Failure',
      reason: 'NotFound',
      message: 'pods "a" not found',
      code: 404,
      details: { retryAfterSeconds: 3 },
    }),
    '<html>bad gateway</html>',
  ),
  tokens: ['"reason":"', '"Conflict"', '"code":', '"retryAfterSeconds":', '"kind":"Status"', '"reason":"constructor"'],
  errors: [],
  run(input) {
    const error = errorFromResponse(500, {}, textOf(input));
    requireProperty(error instanceof ApiError && typeof error.reason === 'string', 'an error has no reason');
    requireProperty(typeof error.message === 'string' && error.message !== '', 'an error has no message');
    requireProperty(error.retryAfterMs === undefined || error.retryAfterMs > 0, 'a negative delay');
    return { reason: error.reason, retryAfterMs: error.retryAfterMs };
  },
};

export const WATCH_LINES: FuzzTarget = {
  name: 'watch-lines',
  seeds: texts('{"type":"ADDED"}\n{"type":"BOOKMARK"}\n', '\n\n{"é":"😀"}\ncut'),
  errors: [],
  async run(input, draw) {
    const lines: string[] = [];
    for await (const line of wholeLines(asStream(randomChunks(input, draw)))) lines.push(line);
    const text = Buffer.from(input).subarray(0, input.lastIndexOf(0x0a) + 1);
    const expected = splitLines(text);
    requireProperty(lines.join('\n') === expected.join('\n'), 'the lines depend on how the bytes are split');
    return lines;
  },
};

function splitLines(bytes: Uint8Array): readonly string[] {
  const lines: string[] = [];
  for (let start = 0, end = bytes.indexOf(0x0a); end !== -1; start = end + 1, end = bytes.indexOf(0x0a, start)) {
    lines.push(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(start, end)));
  }
  return lines.filter((line) => line !== '');
}

export const QUANTITY: FuzzTarget = {
  name: 'quantity',
  seeds: texts('100Mi', '500m', '1e3', '.5', '-1.5Gi', '12E', '9223372036854775807', '0.000000001n'),
  tokens: ['Ki', 'Ei', 'm', 'n', 'u', 'e-', 'E+', '0000', '.', 'e999', 'e-999999999999'],
  errors: [QuantityError],
  run(input) {
    const quantity = parseQuantity(textOf(input));
    const again = parseQuantity(quantity.toString());
    requireNear(textOf(input), Number(quantity.nano) / 1e9);
    requireProperty(again.compare(quantity) === 0, `printed as ${quantity.toString()}, which is a different amount`);
    return [quantity.format, quantity.value() > 0n, quantity.milliValue() > 0n, quantity.toString().length];
  },
};

const SCALES: ReadonlyMap<string, number> = new Map([
  ...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map((unit, index) => [unit, 1000 ** (index - 3)] as const),
  ...['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((unit, index) => [unit, 1024 ** (index + 1)] as const),
]);

/** Compares with a computation in floating point. Amounts are rounded up to a billionth, and binary ones have a limit. */
function requireNear(text: string, value: number): void {
  const [, digits = '', unit = ''] = /^([-+]?[0-9.]+)([a-zA-Z]*)$/.exec(text) ?? [];
  const expected = Number(digits) * (SCALES.get(unit) ?? Number.NaN);
  if (digits === '' || !Number.isFinite(expected) || Math.abs(expected) > 2 ** 62) return;
  const isNear = Math.abs(value - expected) <= 2e-9 + Math.abs(expected) * 1e-9;
  requireProperty(isNear, `read as ${value}, expected ${expected}`);
}

export const DURATION: FuzzTarget = {
  name: 'duration',
  seeds: texts('1h2m3.5s', '-100ms', '1.5µs', '0', '2562047h47m16.854775807s'),
  tokens: ['ns', 'us', 'h', 'm', '.', '0.', '9223372036854775808ns'],
  errors: [DurationError],
  run(input) {
    const nanoseconds = parseDuration(textOf(input));
    requireProperty(parseDuration(formatDuration(nanoseconds)) === nanoseconds, 'printed as a different duration');
    return nanoseconds > 0n;
  },
};

export const TIME: FuzzTarget = {
  name: 'rfc3339',
  seeds: texts(
    '2026-11-15T09:02:09Z',
    '0000-01-01T00:00:00.123456789+23:59',
    '9999-12-31T23:59:59,5-00:01',
    '2024-02-29T00:00:00Z',
  ),
  tokens: ['Z', '+00:00', '.999999999', '-02-29', 'T24'],
  errors: [TimeError],
  run(input) {
    const nanoseconds = parseNanoTime(textOf(input));
    const isShort =
      nanoseconds >= parseNanoTime('0000-01-02T00:00:00Z') && nanoseconds < parseNanoTime('9999-12-31T00:00:00Z');
    if (isShort)
      requireProperty(parseNanoTime(formatNanoTime(nanoseconds)) === nanoseconds, 'printed as a different time');
    return nanoseconds > 0n;
  },
};

export const MANIFEST_BYTES = bytesOf(POD);
