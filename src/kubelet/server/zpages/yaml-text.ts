import { byCodePoint } from '../../../base/code-point-order.ts';
import { goQuote } from '../../../base/go/go-quote.ts';

type YamlValue = string | number | readonly string[] | { readonly [key: string]: YamlValue };

/** YAML as Kubernetes writes it: block style, keys in order, quotes only where a text would be read as something else. */
export function yamlText(value: { readonly [key: string]: YamlValue }, indent = ''): string {
  return Object.entries(value)
    .toSorted(([a], [b]) => byCodePoint(a, b))
    .map(([key, each]) => `${indent}${scalar(key)}:${nested(each, indent, indent.length + scalar(key).length + 2)}`)
    .join('');
}

/** `column`: where a scalar begins. */
function nested(value: YamlValue, indent: string, column: number): string {
  if (typeof value === 'number') return ` ${value}\n`;
  if (typeof value === 'string') return ` ${folded(scalar(value), column, `${indent}  `)}\n`;
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

const WIDTH = 80;

/** Breaks a scalar at the first space behind the width of a line; texts in double quotes stay as they are. */
function folded(text: string, column: number, indent: string): string {
  if (text.startsWith('"')) return text;
  let at = column;
  const words = text.split(' ').map((word, index) => {
    const isBroken = index > 0 && at > WIDTH;
    if (isBroken) at = indent.length + word.length;
    else at += word.length + (index > 0 ? 1 : 0);
    return isBroken ? `\n${indent}${word}` : `${index > 0 ? ' ' : ''}${word}`;
  });
  return words.join('');
}
