import { FLAGS, type FlagKind, type FlagSpec } from './generated/flags.ts';

/** How a value is written, for each kind that takes one. */
const VALUES: Readonly<Record<FlagKind, string>> = {
  bool: '',
  version: '',
  duration: 'duration',
  int32: 'int32',
  int64: 'int',
  ip: 'ip',
  labels: 'key=value,...',
  level: 'level',
  map: 'key=value,...',
  mapByLess: 'key<value,...',
  mapOfBool: 'key=bool,...',
  mapOfOne: 'key=value',
  multimap: 'key:value,...',
  quantity: 'quantity',
  reservedMemory: 'node:type=quantity,...',
  string: 'string',
  strings: 'string,...',
  taints: 'key=value:effect,...',
  vmodule: 'pattern=N,...',
};

const SHORTHANDS: Readonly<Record<string, string>> = { v: '-v, ', help: '-h, ' };
const WIDTH = 110;
const INDENT = 6;

const GROUPS: readonly { readonly title: string; readonly class: FlagSpec['meaning']['class'] }[] = [
  { title: 'Flags of this machine and this process:', class: 'own' },
  {
    title: 'Flags that set a field of KubeletConfiguration (they win over --config and --config-dir):',
    class: 'field',
  },
  { title: 'Flags that mean nothing any more (accepted with a warning):', class: 'none' },
];

/** What `nodelet kubelet --help` shows: every flag of kubelet, by what it means here. */
export function kubeletHelp(): string {
  const head = 'Runs the node agent. It takes the flags and the configuration files of the Kubernetes kubelet.\n\n';
  const usage = 'Usage:\n  nodelet kubelet [flags]\n';
  const groups = GROUPS.map(({ title, class: wanted }) => {
    const flags = FLAGS.filter(({ meaning }) => meaning.class === wanted);
    return `\n${title}\n${flags.map(flagHelp).join('')}`;
  });
  return `${head}${usage}${groups.join('')}`;
}

function flagHelp(flag: FlagSpec): string {
  const value = VALUES[flag.kind];
  const head = `  ${SHORTHANDS[flag.name] ?? ''}--${flag.name}${value === '' ? '' : ` ${value}`}`;
  const field = flag.meaning.class === 'field' ? [`[${flag.meaning.path.join('.')}]`] : [];
  const preset = flag.default === '' ? [] : [`(default ${flag.default.replaceAll(',', ', ')})`];
  return `${head}\n${wrap([flag.words, ...preset, ...field].join(' '))}`;
}

function wrap(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + word.length + 1 > WIDTH - INDENT) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => `${' '.repeat(INDENT)}${line}\n`).join('');
}
