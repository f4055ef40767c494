import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { parseLocalAddresses, parseRoutes } from '../../../src/app/pod-network/address-conflict.ts';
import { DerError, type DerValue, derContext, derOctets, derSequence, derValues } from '../../../src/base/der.ts';
import { pemBlocks, pemText } from '../../../src/base/pem.ts';
import { bytesOfFileName, fileNameOf } from '../../../src/host/file-name.ts';
import { parseMountinfo } from '../../../src/host/linux/proc/mountinfo.ts';
import { parseProcStat } from '../../../src/host/linux/proc/proc-stat.ts';
import { parseNetDev } from '../../../src/host/net-dev.ts';
import { RequestSyntaxError, readCertificateRequest } from '../../../src/kubelet/certificates/certificate-request.ts';
import { type LogEntry, LogEntryParser } from '../../../src/kubelet/logs/log-entries.ts';
import { LogLineJoiner, logTimeMs } from '../../../src/kubelet/logs/log-lines.ts';
import { formatLogTime } from '../../../src/kubelet/logs/log-text.ts';
import { tailOffset } from '../../../src/kubelet/logs/tail-offset.ts';
import { parseResolvConf } from '../../../src/kubelet/sync/config/dns.ts';
import { parseSubIds } from '../../../src/kubelet/userns/id-space.ts';
import { parseMappings } from '../../../src/kubelet/userns/mappings-file.ts';
import { binary, type FuzzTarget, randomChunks, requireProperty, textOf, texts } from '../fuzz-target.ts';

export const MOUNTINFO: FuzzTarget = {
  name: 'mountinfo',
  seeds: texts(
    '36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n37 1 0:5 / /a\\040b ro shared:1 master:2 - tmpfs tmpfs rw\n',
    '40 1 0:6 / /x rw - fuse.x a\\134b ro\n',
  ),
  tokens: [' - ', '\\040', '\\134', '\\777', 'shared:1 ', ' ro', '\n1 1 0:1 / / rw - a b c\n'],
  errors: [],
  run(input) {
    const text = textOf(input);
    const entries = parseMountinfo(text);
    requireProperty(entries.length <= text.split('\n').length, 'more mounts than lines');
    return entries;
  },
};

/** /proc/PID/stat, /proc/net/dev, /proc/net/route and fib_trie. */
export const PROC_FILES: FuzzTarget = {
  name: 'proc-files',
  seeds: texts(
    '7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0\n',
    'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\neth0\t000011AC\t0\t0001\t0\t0\t0\t0000FFFF\n',
    'Main:\n  +-- 0.0.0.0/0 3\n     |-- 10.0.0.1\n        /32 host LOCAL\n',
  ),
  tokens: [') ', '\t0001\t', '|-- 127.0.0.1\n /32 host LOCAL', 'FFFFFFFF'],
  errors: [],
  run(input) {
    const text = textOf(input);
    const stat = parseProcStat(text);
    requireProperty(stat === undefined || Number.isSafeInteger(stat.startTime), 'no start time');
    return { stat, routes: parseRoutes(text), addresses: parseLocalAddresses(text) };
  },
};

export const NET_DEV: FuzzTarget = {
  name: 'net-dev',
  seeds: texts(
    'Inter-|\n face |\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n    lo:0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n',
  ),
  tokens: ['eth0:', '\n', ' 18446744073709551615'],
  errors: [SyntaxError],
  run: (input) => parseNetDev(textOf(input)),
};

const LOG_LINE = '2026-11-15T09:02:09.669794202Z stdout F hello\n';
const LOG_TOKENS = [
  ' stdout ',
  ' stderr ',
  ' F ',
  ' P ',
  ' F:a:b ',
  '\n',
  LOG_LINE,
  LOG_LINE.replace(' F ', ' P '),
  '+01:00',
  ',5Z',
];

/** Log files, read forwards in any chunks, and backwards for the tail. */
export const CRI_LOG: FuzzTarget = {
  name: 'cri-log',
  testInputs: 100,
  seeds: texts(
    LOG_LINE.repeat(3),
    `${LOG_LINE.replace(' F ', ' P ')}${LOG_LINE}2026-11-15T09:02:09Z stderr P cut`,
    `torn\n${LOG_LINE}\n\n`,
  ),
  tokens: LOG_TOKENS,
  errors: [],
  async run(input, draw) {
    const entries = entriesOf([input]);
    requireProperty(
      isDeepStrictEqual(entries, entriesOf(randomChunks(input, draw))),
      'the entries depend on how the bytes are split',
    );
    const joiner = new LogLineJoiner();
    const lines = [...entries.flatMap((entry) => joiner.add(entry) ?? []), ...joiner.rest()];
    for (const line of lines)
      requireProperty(Number.isFinite(logTimeMs(line)) && formatLogTime(line.time).length >= 29, 'a line has no time');
    const total = entries.reduce((sum, { text }) => sum + text.length, 0);
    requireProperty(
      total <= input.length && lines.reduce((sum, { text }) => sum + text.length, 0) === total,
      'text is lost',
    );
    const count = draw.int(0, 5);
    const file = { read: async (offset: number, length: number) => input.subarray(offset, offset + length) };
    const at = await tailOffset(file, input.length, { count, of: 'entries' });
    const tail = entriesOf([input.subarray(at)]);
    requireProperty(
      isDeepStrictEqual(tail, entries.slice(Math.max(0, entries.length - count))),
      `the tail of ${count} entries is different`,
    );
    return lines;
  },
};

function entriesOf(chunks: readonly Uint8Array[]): readonly LogEntry[] {
  const parser = new LogEntryParser();
  const entries = [...chunks.flatMap((chunk) => parser.add(chunk)), ...parser.end()];
  return entries.map((entry) => ({ ...entry, text: new Uint8Array(entry.text) }));
}

export const RESOLV_CONF: FuzzTarget = {
  name: 'resolv-conf',
  seeds: texts(
    'nameserver 10.0.0.10\nsearch a.example. b .\noptions ndots:5 edns0\n# c\n',
    'domain x\nnameserver ::1 # c\n',
  ),
  tokens: ['nameserver', 'search ', 'options ', '\n', 'ndots:1'],
  errors: [Error],
  run: (input) => parseResolvConf(textOf(input)),
};

/** Subordinate ids, and the mappings of a pod's user namespace. */
export const ID_FILES: FuzzTarget = {
  name: 'id-files',
  seeds: texts(
    '0: kubelet 65536 7208960\n',
    '{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[{"hostId":65536,"containerId":0,"length":65536}]}',
  ),
  tokens: ['"uidMappings":', '"hostId":', '"length":', 'kubelet', '{"toString":1}'],
  errors: [Error],
  run(input) {
    const text = textOf(input);
    const range = text.includes('{') ? parseMappings(text) : parseSubIds(text);
    requireProperty(Number.isInteger(range.first) && Number.isInteger(range.length), 'an id is not an integer');
    return range;
  },
};

const CERTIFICATE = derSequence(
  derSequence(derContext(0, Uint8Array.of(2, 1, 2)), derOctets(new Uint8Array(200))),
  derSequence(),
);

/** DER: values cover all bytes, and a certificate that OpenSSL accepts can be read. */
export const DER: FuzzTarget = {
  name: 'der',
  seeds: [CERTIFICATE, derSequence(), Uint8Array.of(0x30, 0x84, 0, 0, 0, 2, 5, 0)],
  tokens: ['0\x82', '\x84\0\0\0\x01', '\x02\x01\0', '\x06\x03'].map(binary),
  errors: [DerError],
  run(input) {
    const values = nested(input, 0);
    const covered = derValues(input).reduce((sum, { encoded }) => sum + encoded.length, 0);
    requireProperty(covered === input.length, 'values do not cover all bytes');
    return values;
  },
};

/** Follows constructed values; their content may be anything, so errors there count as the end. */
function nested(bytes: Uint8Array, depth: number): readonly unknown[] {
  return derValues(bytes).map(({ tag, content }) => {
    if ((tag & 0x20) === 0 || depth > 8) return tag;
    try {
      return nested(content, depth + 1);
    } catch (error) {
      if (error instanceof DerError) return 'broken';
      throw error;
    }
  });
}

export const PEM: FuzzTarget = {
  name: 'pem',
  seeds: texts(
    '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n',
    'a\n-----BEGIN X-----\nAAAA\n-----END X-----\n',
  ),
  tokens: ['-----BEGIN CERTIFICATE-----\n', '\n-----END CERTIFICATE-----\n', '-----BEGIN A-----', '-----END '],
  errors: [],
  run(input) {
    const blocks = pemBlocks(textOf(input));
    for (const block of blocks) {
      const again = pemBlocks(pemText(block));
      requireProperty(block.der.length === 0 || isDeepStrictEqual(again, [block]), 'a block is written differently');
    }
    return blocks;
  },
};

/** Certificates, compared with OpenSSL. The samples are in the corpus. */
export const CERTIFICATES: FuzzTarget = {
  name: 'certificate',
  seeds: [CERTIFICATE],
  tokens: ['0\x82', '\x06\x03\x55\x04\x03', '\x17\x0d'].map(binary),
  errors: [DerError],
  run(input) {
    const isAccepted = isCertificate(input);
    const [certificate] = derValues(input);
    const [content, algorithm, signature] = certificate ? derValues(certificate.content) : [];
    if (!isAccepted) return content?.tag;
    requireProperty([content, algorithm, signature].every(isPresent), 'OpenSSL reads more than this parser');
    return content ? derValues(content.content).map(({ tag }) => tag) : [];
  },
};

function isCertificate(der: Uint8Array): boolean {
  try {
    return new X509Certificate(der).serialNumber !== '';
  } catch {
    return false;
  }
}

function isPresent(value: DerValue | undefined): value is DerValue {
  return value !== undefined;
}

/** Certificate requests: what is signed is part of the input. A sample is in the corpus. */
export const CERTIFICATE_REQUEST: FuzzTarget = {
  name: 'certificate-request',
  seeds: [
    derSequence(
      derSequence(derSequence(), derSequence(), derSequence(), derContext(0)),
      derSequence(),
      derOctets(Uint8Array.of(0, 1)),
    ),
  ],
  tokens: ['0\x82', '\xa0\0', '\x03\x01\0'].map(binary),
  errors: [DerError, RequestSyntaxError],
  run(input) {
    const parts = readCertificateRequest(pemText({ label: 'CERTIFICATE REQUEST', der: input }));
    const whole = Buffer.from(input);
    const isPart = [parts.content, parts.subject, parts.publicKey].every((each) => whole.includes(each));
    requireProperty(isPart, 'a part of the request is not in it');
    return parts;
  },
};

/** Names of files are bytes: every name can be encoded again. */
export const FILE_NAME: FuzzTarget = {
  name: 'file-name',
  testInputs: 300,
  seeds: texts('a/é/😀', '\ufeffx'),
  tokens: ['\xff', '\xc3', '\xed\xa0\x80', '\xf0\x9f'].map(binary),
  errors: [],
  run(input) {
    const name = fileNameOf(input);
    requireProperty(Buffer.from(bytesOfFileName(name)).equals(input), 'a name does not encode to its bytes');
    const isUtf8 = Buffer.from(input).equals(Buffer.from(Buffer.from(input).toString()));
    requireProperty(isUtf8 === name.isWellFormed(), 'a name is escaped without need, or not escaped');
    return name;
  },
};
