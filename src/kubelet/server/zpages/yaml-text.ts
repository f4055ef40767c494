import { byCodePoint } from '../../../base/code-point-order.ts';
import { goQuote } from '../../../base/go/go-quote.ts';

type YamlValue = string | number | readonly string[] | { readonly [key: string]: YamlValue };

/** YAML as Kubernetes writes it: block style, keys in order, quotes only where a text would be read as something else. */
export function yamlText(value: { readonly [key: string]: YamlValue }, indent = ''): string {
  return Object.entries(value)
    .toSorted(([a], [b]) => byCodePoint(a, b))
    .map(([key, each]) => `${indent}${scalar(key)}:${nested(each, indent)}`)
    .join('');
}

function nested(value: YamlValue, indent: string): string {
  if (typeof value === 'number') return ` ${value}\n`;
  if (typeof value === 'string') return ` ${scalar(value)}\n`;
  if (isList(value))
    return value.length === 0 ? ' []\n' : `\n${value.map((each) => `${indent}- ${scalar(each)}\n`).join('')}`;
  return Object.keys(value).length === 0 ? ' {}\n' : `\n${yamlText(value, `${indent}  `)}`;
}

function isList(value: YamlValue): value is readonly string[] {
  return Array.isArray(value);
}

const WORDS = /^(?:|~|null|Null|NULL|<<|y|Y|n|N|[yY]es|YES|[nN]o|NO|[tT]rue|TRUE|[fF]alse|FALSE|[oO]n|ON|[oO]ff|OFF)$/;
const NUMBER =
  /^[-+]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?\d+)?$|^[-+]?0[xob][\da-fA-F_]+$|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/;
const BASE_60 = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/;
const TIME = /^\d{4}-\d\d?-\d\d?(?:$|[Tt ])/;
const NEEDS_QUOTES = /^[-?:](?:\s|$)|^[,[\]{}#&*!|>'"%@`]|^\s|\s$|:(?:\s|$)|\s#|^---|^\.\.\./;

function scalar(text: string): string {
  const isOther = WORDS.test(text) || NUMBER.test(text) || BASE_60.test(text) || TIME.test(text);
  if (isOther || /[^\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]/.test(text)) return goQuote(text);
  return NEEDS_QUOTES.test(text) ? `'${text.replaceAll("'", "''")}'` : text;
}
