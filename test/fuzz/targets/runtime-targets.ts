import { isDeepStrictEqual } from 'node:util';
import { parseConfigDocument } from '../../../src/app/config/parse-config-document.ts';
import { decodeRuntimeConfig } from '../../../src/app/runtime-config/decode-runtime-config.ts';
import { RUNTIME_CONFIGURATION } from '../../../src/app/runtime-config/runtime-config-schema.ts';
import { parseId } from '../../../src/base/numeric-id.ts';
import { parseCdiSpec } from '../../../src/runtime/cdi/parse-cdi-spec.ts';
import { interfaceAddresses, sortByPreference, withVersion } from '../../../src/runtime/network/cni-result.ts';
import { parseJsonObject } from '../../../src/runtime/network/json-object.ts';
import {
  type NetworkConfig,
  NetworkConfigError,
  parseNetworkList,
  parseSinglePlugin,
} from '../../../src/runtime/network/network-config.ts';
import { parseMonitorReport } from '../../../src/runtime/oci/runtime-output.ts';
import { parseBaseSpec } from '../../../src/runtime/settings/base-spec.ts';
import { parseGroups, parsePasswd } from '../../../src/runtime/spec/account-files.ts';
import { parseSeccompProfile } from '../../../src/runtime/spec/parse-seccomp-profile.ts';
import { recordFromText, recordToText } from '../../../src/runtime/store/record-text.ts';
import { type FuzzTarget, requireProperty, textOf, texts } from '../fuzz-target.ts';

const NETWORK = { cniVersion: '1.0.0' } as NetworkConfig;

/** The standard output of a CNI plugin after ADD. */
export const CNI_RESULT: FuzzTarget = {
  name: 'cni-result',
  seeds: texts(
    JSON.stringify({
      cniVersion: '1.0.0',
      interfaces: [{ name: 'eth0', sandbox: '/n' }, { name: 'veth1' }],
      ips: [
        { address: '10.0.0.2/16', interface: 0 },
        { address: 'fd00::2/64', interface: 1 },
      ],
      dns: {},
    }),
    JSON.stringify({ cniVersion: '0.2.0', ip4: { ip: '10.0.0.3/24' }, ip6: { ip: 'fd00::3/64' } }),
  ),
  tokens: ['"interfaces":', '"ips":', '"interface":', '"address":', '"ip4":', '-1', '"name":"eth0"', '"cniVersion":'],
  errors: [],
  run(input) {
    const result = parseJsonObject(textOf(input));
    if (result === undefined) return undefined;
    const addresses = interfaceAddresses(withVersion(result, NETWORK), 'eth0');
    const sorted = sortByPreference(addresses, 'ipv6');
    requireProperty(
      addresses.every((each) => typeof each === 'string' && !each.includes('/')),
      'an address has a prefix',
    );
    requireProperty(new Set(sorted).size === new Set(addresses).size, 'an address is lost');
    return addresses;
  },
};

export const CNI_CONFIG: FuzzTarget = {
  name: 'cni-config',
  seeds: texts(
    JSON.stringify({
      cniVersion: '1.0.0',
      name: 'n',
      disableCheck: 'true',
      plugins: [{ type: 'bridge', capabilities: { portMappings: true } }, { type: 'portmap' }],
    }),
    JSON.stringify({ cniVersions: ['0.4.0', '1.1.0'], name: 'n', type: 'ptp', loadOnlyInlinedPlugins: false }),
  ),
  tokens: ['"plugins":', '"type":', '"name":', '"cniVersion":', '"disableGC":', '"capabilities":'],
  errors: [NetworkConfigError, SyntaxError],
  run(input) {
    const value: unknown = JSON.parse(textOf(input));
    const network = isList(value) ? parseNetworkList(value).network : parseSinglePlugin(value);
    requireProperty(
      !network.name.includes('/') && network.plugins.every(({ type }) => !type.includes('/')),
      'a name is a path',
    );
    return network;
  },
};

function isList(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'plugins' in value;
}

export const CDI_SPEC: FuzzTarget = {
  name: 'cdi-spec',
  seeds: texts(
    JSON.stringify({
      cdiVersion: '0.6.0',
      kind: 'v.com/gpu',
      devices: [
        {
          name: '0',
          containerEdits: {
            env: ['A=b'],
            deviceNodes: [{ path: '/dev/x', type: 'c', major: 1, minor: 2, permissions: 'rw' }],
            mounts: [{ hostPath: '/a', containerPath: '/b', options: ['ro'] }],
            hooks: [{ hookName: 'createContainer', path: '/h', args: ['a'], timeout: 1 }],
            additionalGids: [5],
            intelRdt: { closID: 'x' },
          },
        },
      ],
      containerEdits: {},
    }),
  ),
  tokens: ['"devices":', '"hooks":', '"deviceNodes":', '"hookName":"prestart"', '"env":', '"containerEdits":'],
  errors: [Error, SyntaxError],
  run: (input) => parseCdiSpec(JSON.parse(textOf(input))),
};

const RUNTIME_CONFIG_TEXT = `apiVersion: runtime.nodelet.io/v1alpha1
kind: RuntimeConfiguration
cniBinDirs: [/a, b]
verbosity: 4
runtimeHandlers:
  kata: {runtimePath: /k, podAnnotations: ["a.*", "[a-c]"], cniConfDir: c, cniMaxConfNum: 2, cgroupWritable: true}
`;

/** The file of `nodelet cri --config`. */
export const RUNTIME_CONFIG: FuzzTarget = {
  name: 'runtime-config',
  testInputs: 20,
  seeds: texts(RUNTIME_CONFIG_TEXT),
  tokens: [
    'runtimeHandlers:',
    'podAnnotations: ',
    'cgroupDriver: ',
    'null',
    '[',
    '\\\\',
    '""',
    '-1',
    '&a',
    '*a',
    '<<: ',
  ],
  errors: [],
  weightPerByte: 4096,
  run: (input) => {
    const { config } = parseConfigDocument(textOf(input), '/runtime.yaml', RUNTIME_CONFIGURATION);
    return decodeRuntimeConfig(config, '/etc', () => {});
  },
};

/** `baseRuntimeSpec` of a handler. */
export const BASE_SPEC: FuzzTarget = {
  name: 'base-spec',
  seeds: texts(
    JSON.stringify({
      ociVersion: '1.1.0',
      process: { rlimits: [{ type: 'RLIMIT_NOFILE', soft: 1, hard: 2 }], env: ['A=b'] },
      annotations: { a: 'b' },
      hooks: { poststop: [{ path: '/h', args: ['h'], env: ['A=b'], timeout: 1 }] },
    }),
  ),
  tokens: ['"process":', '"rlimits":', '"hooks":', '"prestart":', '-1', '1e99', 'null', '""'],
  errors: [Error],
  run: (input) => parseBaseSpec(textOf(input)),
};

export const SECCOMP_PROFILE: FuzzTarget = {
  name: 'seccomp-profile',
  seeds: texts(
    JSON.stringify({
      defaultAction: 'SCMP_ACT_ERRNO',
      defaultErrnoRet: 1,
      archMap: [{ architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86'] }],
      syscalls: [
        {
          names: ['read'],
          action: 'SCMP_ACT_ALLOW',
          errno: 'EPERM',
          args: [{ index: 0, value: 1, valueTwo: 2, op: 'SCMP_CMP_EQ' }],
          includes: { caps: ['CAP_X'], minKernel: '4.8' },
          excludes: { arches: ['amd64'] },
        },
      ],
    }),
  ),
  tokens: ['"syscalls":', '"errno":', '"includes":', '"args":', '"names":', '"flags":', '"listenerPath":'],
  errors: [Error, SyntaxError],
  run(input) {
    const profile = parseSeccompProfile(textOf(input));
    const numbers = profile.syscalls.flatMap(({ errnoRet, args = [] }) => [
      errnoRet,
      ...args.map(({ index }) => index),
    ]);
    requireProperty(
      numbers.every((each) => each === undefined || typeof each === 'number'),
      'not a number',
    );
    return profile;
  },
};

/** /etc/passwd, /etc/group and the USER of an image. */
export const ACCOUNT_FILES: FuzzTarget = {
  name: 'account-files',
  seeds: texts(
    'root:x:0:0:root:/root:/bin/sh\n# c\nuser:x:1000:1000::/:\n',
    'wheel:x:10:root,user\nnone:*:65534:\n',
    '1000:1000',
    '+7',
  ),
  tokens: [':x:', '2147483647', '4294967295', ',', '\n'],
  errors: [],
  run(input) {
    const text = textOf(input);
    const [users, groups, id] = [parsePasswd(text), parseGroups(text), parseId(text)];
    const ids = [
      ...users.flatMap(({ uid, gid }) => [uid, gid]),
      ...groups.map(({ gid }) => gid),
      ...(id.kind === 'id' ? [id.id] : []),
    ];
    requireProperty(
      ids.every((each) => Number.isInteger(each) && each >= 0 && each < 2 ** 31 && !Object.is(each, -0)),
      'an id is out of range',
    );
    requireProperty(
      users.every(({ name }) => name !== '' && !name.includes('\n')),
      'a name has several lines',
    );
    return { users, groups, id };
  },
};

/** The report of conmon and the errors of OCI runtimes. */
export const MONITOR_REPORT: FuzzTarget = {
  name: 'monitor-report',
  seeds: texts(
    '{"pid":123,"data":123}',
    '{"data":-1,"message":"runc create failed: unable to start container process: exec: \\"x\\": not found"}',
    'time="2026" level=error msg="container_linux.go: \\"a\\" b\\nc"\n[conmon:e]: failed',
  ),
  tokens: ['level=error', 'msg="', '\\"', '"data":', '"message":', 'level=fatal msg="a"\n'],
  errors: [],
  run(input) {
    const text = textOf(input);
    const [line = '', ...stderr] = text.split('\n');
    const report = parseMonitorReport({ line, stderr: stderr.join('\n') });
    requireProperty(report.kind === 'created' ? report.pid > 0 : typeof report.reason === 'string', 'not a report');
    return report;
  },
};

/** Records of sandboxes and containers: a damaged disk may change them. */
export const RECORD_TEXT: FuzzTarget = {
  name: 'record-text',
  seeds: texts(
    recordToText({ id: 'a', createdAtNs: 5n, state: { phase: 'running' }, bytes: Uint8Array.of(1, 2) }),
    recordToText({ labels: { $a: 'b' } }),
  ),
  tokens: ['{"$bigint":"5"}', '{"$bytes":""}', '{"$object":{}}', '"$', '"life":', '"state":'],
  errors: [SyntaxError],
  run(input) {
    const record = recordFromText(textOf(input));
    const text = recordToText(record);
    requireProperty(
      isDeepStrictEqual(recordFromText(text), recordFromText(recordToText(recordFromText(text)))),
      'written differently',
    );
    return record;
  },
};
