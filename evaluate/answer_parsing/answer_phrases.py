"""Regular expressions for phrases that announce an answer, outright or as a hint.

They are case-insensitive and are applied to the output of ``markup_removal.strip_markup`` (no
markdown, no LaTeX, no accents, straight quotes).
"""

from __future__ import annotations

import re

__all__ = [
    "AFTER_MENTION",
    "CARRIER",
    "CASED",
    "DECLARATION",
    "FOLLOWS_LETTER",
    "HINT",
    "LABELLING",
    "LEADS_TO_LETTER",
    "ORDINAL",
    "PLACES",
    "PREFERRED",
    "RANKED",
    "SINGLED",
    "TERM",
    "TURN",
    "VERDICT",
    "WEAK",
]

CASED = r"A-Za-z0-9\u00aa-\u024f\u0300-\u03ff\u0400-\u052f\u1e00-\u1fff"
"""Characters that bind to a neighbouring letter; excludes Chinese, Japanese and Korean."""

_LINK = r"""(?:\s*(?::|=|>|\?(?=\s)|[-\u2013\u2014]+>?|\u2192|\u21d2)\s*
    |\s+(?:is|was|are|be|(?:would|should|must|will|has\s+to)(?:\s+(?:most\s+)?(?:likely|probably|then|therefore))?\s+be
      |seems(?:\s+to\s+be)?|appears\s+to\s+be|remains|becomes)(?:\s*:\s*|\s+)
    |'s\s+|\s*\n+\s*
    |\s+(?=(?:cannot|can't|can\s+not|could\s+not)\s+be\s+(?:determined|established|given|known
        |identified|inferred|answered|found|decided|ascertained)))"""
_FILLER = r"""(?:(?:therefore|thus|hence|clearly|definitely|indeed|actually|simply|still|now|then
    |in\s+fact|also
    |most\s+likely|more\s+likely|most\s+probably|probably|likely|certainly|obviously|rather|best)[\s,]+
    |(?:the\s+)?(?:correct\s+|right\s+|best\s+|final\s+)?(?:option|choice|letter|answer)
      (?:\s+is)?[\s:]+)"""

DECLARATION = re.compile(
    rf"""(?:
      \b(?=[a-fl-psvr])(?:(?:answers?|ans|response|choice|option|selection|pick|letter|prediction|conclusion
          |(?:correct|right|best|chosen|selected|final)\s+one|decision|solution|result|verdict
          |(?:best|closest|correct)\s+(?:match|fit|description))
        (?:\s*\d{{1,2}}(?=\s*:)|\s*[(\[][^()\[\]\n]{{2,30}}[)\]](?=\s*(?::|=|is\b)))?
        (?:\s+(?:to|for|of|among|amongst|from|here|in|out\s+of|given)\b[^.;\n]{{0,60}}?(?=\s(?:is|was|would|must|should|seems)\s|:))?
        (?:['"]\s*)?(?:{_LINK}|(?<=wer)\s*\(\s*["']?(?=[A-Za-z]["']?\s*\))|(?<=wer)\s+(?=[A-Z](?![{CASED}'])))
      |(?:correct|selected|chosen|choose|select|pick|ans|primary|main|best|final|edit|corrected|revised|finally
          |most\s+(?:likely|probable|plausible|appropriate|suitable))\s*:\s*)
      |(?:^|[.!\n]\s*)(?:choose|select|pick|go\s+with|opt|ans\.?)\s+(?=(?:option\s+|choice\s+)?[(\["']?[A-Z](?![{CASED}'-]))
      |(?:^|\n)\s*a\s*:\s*(?=[(\["']?[A-Za-z][)\]"'.]{{0,3}}\s*(?:$|\n))
      |\b(?:assistant|model|bot)\s*:\s*(?=[(\["']?[A-Z](?![{CASED}'-]))
      |(?:rank(?:ing|ed)?|order\s+of\s+(?:likelihood|probability)|most\s+to\s+least\s+likely)\b[^:\n]{{0,40}}:\s*(?:1[.)]\s*)?
      |(?:^|\n)\s*(?:1st|\#1|first|rank\s+1)\s*[:.]\s*
      |\b(?=[cilruw])(?:let(?:'s|\s+us|\s+me)\s+(?:go\s+with|choose|pick|select|say)\s+
      |(?:i|we)(?:'d|'ll|'ve|\s+would|\s+will|\s+have|\s+am|'m|\s+must|\s+should|\s+now|\s+can)?
        (?:\s+(?:therefore|thus|hence|still|definitely|rather|now|probably|confidently|finally|have\s+to|going\s+to|to))*
        \s+(?:choose|chose|chosen|choosing|select(?:ed|ing)?|pick(?:ed|ing)?|go(?:ing)?\s+(?:with|for)
          |opt(?:ed|ing)?\s+for|answer|say|vote\s+for|argue\s+for|lean(?:ing)?(?:\s+towards?|\s+to)?|settled?\s+(?:on|for)
          |conclude(?:\s+that)?(?:\s+(?:it|this)\s+is)?|stick(?:ing)?\s+with|stay\s+with
          |change\s+(?:my|the)\s+answer\s+to|switch(?:ing)?\s+to|mean|meant)\s*:?\s+
      |will\s+(?:go\s+with|choose|pick|select)\s+
      |(?:change|revise|correct|update)\s+(?:my|the)\s+(?:final\s+)?answer\s+to\s+)
      |(?=[^\x00-\x7f]|\s)(?:(?<!不)(?<!非)(?:答案|答え|解答|正解|정답|답안|답|(?:正确|正確|正しい|最佳|最合适|最恰当)(?:的)?(?:选项|選項|選択肢)
          |最(?:符合|可能|合适|恰当|適切な)的?(?:选项|选择)?(?=是|为|は|\s*[A-Z](?![A-Za-z]))|可能性最[大高]的?(?:选项|选择)?(?=是|为)|(?:正确|正確)的(?=是|为)|应(?=为)|(?<![个個他它余各有些述下])选项(?!\s*[A-Z]\s*[\u4e00-\u9fff](?<!正)(?<!最)(?<!是)(?<!符)(?<!对)(?<!更)(?<!为))|選項|選択肢)
        (?:应该|應該|应当|应|應|可能|必须)?(?:是|为|為|选择|選擇|选|選|은|는|は)?\s*:?\s*
      |(?<!不)(?<!不会)(?<!不能)(?:应|應|故|所以|我)?(?:选择|選擇|选|選)(?!项|項|択)(?:项|項)?(?:是|为)?\s*:?\s*
      |(?<=而)是\s*|(?:应该|應該|应当|毫无疑问|无疑|显然|肯定|一定)(?:是|为)\s*|(?:结果|结论|判断)\s*:\s*|(?:回答|答)\s*(?::|は)\s*|(?<=[,.;])\s*是(?=[A-Z])|(?:是|为|显示|考虑)[^\x00-\x7f]{{1,20}}(?=\([A-Z]\))|(?:所以|因此|故)(?:是|为)\s*)
      |\b(?:la\s+|die\s+|a\s+|il\s+)?(?:reponse|respuesta|antwort|antwoord|risposta|resposta|alternativa|opcion|opcao|opzione|ответ|вариант|svar
          |odpowiedz|cevap|đap\s+an|jawaban|الإجابة|الاجابة|उत्तर)
        (?:\s+(?:correcta?|correcte|correta|richtige|corretta|juste|finale?|final|правильный|đung|yang\s+benar|الصحيحة|korrekte?))*
        (?:\s*:\s*|\s+(?:est|es|ist|is|lautet|e|er|to|la|adalah|هي|هو)(?:\s*:\s*|\s+)(?:la\s+|die\s+|a\s+)?(?:(?:l')?(?:opcion|opcao|opzione|option|letra|lettre|lettera|alternativa)\s+)?
          |\s+(?=[A-Z](?![{CASED}'])(?:\s*(?:$|[.,;:\n)]|है)))|\s*[-\u2013\u2014]+\s*)
    )
    (?:{_FILLER}){{0,3}}""",
    re.IGNORECASE | re.VERBOSE,
)
"""Outright announcement of an answer; the answer must follow immediately.

The look-aheads change no match: they rule out whole groups of phrases by their first character.
"""

TURN = re.compile(
    rf"""(?:\b(?:actually|correction|scratch\s+that|on\s+(?:second\s+thought|reflection|review)|wait)\b[\s,.:;!\u2013\u2014-]+
      (?:(?:no|sorry|wait|actually)[\s,.]+)*|(?<![{CASED}])no,\s+)
    (?:(?:it|that|this)(?:'s|\s+is|\s+should\s+be|\s+must\s+be)\s+|make\s+(?:it|that)\s+|i\s+meant\s+)?(?:{_FILLER}){{0,2}}""",
    re.IGNORECASE | re.VERBOSE,
)
"""A change of mind; only a letter directly after it counts."""

HINT = re.compile(
    rf"""(?:\b(?:it|this|that)(?:'s|'d\s+be|\s+(?:is|represents|shows|must\s+be|should\s+be|would\s+be|has\s+to\s+be))\s+
      |\b(?:image|picture|figure|scan|radiograph|x-ray|film|study|region|area|structure|organ|lesion|tumou?r|mask
          |view|plane|modality|sequence|arrow|box|outline|contour|finding)
        \s+(?:is|shows|was|represents|depicts|demonstrates|displays|indicates|corresponds\s+to)\s+
      |\b(?:consistent|compatible|aligns?|line)\s+with\s+
      |\b(?:match(?:es|ing)?|correspond(?:s|ing)?\s+to|point(?:s|ing)?\s+to(?:wards?)?|indicat(?:es?|ing)|suggest(?:s|ing)?|support(?:s|ing)?
          |favou?r(?:s|ing)?|suggestive\s+of|indicative\s+of|diagnostic\s+of|identified\s+as
          |(?:classified|described|characteri[sz]ed|categori[sz]ed|represented|labell?ed|read|interpreted)\s+(?:as|by))\s+
      |(?:^|[.\n])(?:[^,.;:?!\n]{{3,80}},\s+){{1,2}}(?=[(\["']?[A-Z][)\]"']?[.!]?\s*(?:$|\n|[.!]\s))
      |(?:^|[,.\n])[^,.;:?!\n]{{0,80}}\b(?:is|are|was|were|makes?|points?|shows?)\b[^,.;:?!\n]{{0,60}}:\s+(?=[(\["']?[A-Z][)\]"']?[.!]?\s*(?:$|\n|[.!]\s))
      |(?:^|[.;\n]\s*)(?:after|on|upon|with|by|given|considering|taking)\s[^.;:?!\n]{{3,80}}:\s+(?=[(\["']?[A-Z][)\]"']?[.!]?\s*(?:$|\n|[.!]\s|$))
      |(?:属于|诊断为|考虑[为是]?|表现为)\s*
      |\b(?:most\s+likely|more\s+likely|(?<!less\s)(?<!least\s)(?<!un)(?<!not\s)likely|probably|presumably)[\s:,]+
      |\b(?:definitely|certainly|clearly|surely|obviously|undoubtedly)\s+
      |\b(?:confident|certain|sure|convinced)\s+(?:in|of|about|that)\s+(?:it(?:'s|\s+is)\s+)?
      |\bin\s+(?:conclusion|summary|short)[,:]\s+
      |\blooks?\s+like\s+|\bvote\s+(?:for\s+)?|\b(?:all\s+in\s+all|overall|in\s+the\s+end),\s+
      |\b(?:shown|seen|depicted|visible)\s+(?:here\s+)?is\s+
      |\bsettl(?:e|ed|ing)\s+(?:on|for)\s+
      |\bleaning\s+(?:towards?\s+|to\s+)?
      |\b(?:guess|vote|verdict)(?:\s+is|\s+would\s+be|\s*:)\s*
      |可能的?(?:答案|选项|诊断)?是\s*
      |\b(?:therefore|thus|hence|so|leav(?:ing|es)(?:\s+us)?(?:\s+with)?|remains|consequently|which\s+means|meaning)[\s:,]+(?:only\s+)?
      |\b(?:i|we)(?:'d|\s+would)?\s+(?:think|believe|suspect|guess|suggest|favou?r|prefer|would\s+guess)
        (?:\s+that)?(?:\s+(?:it|this)(?:'s|\s+is))?\s+
      |(?:^|[.,;!?\n]\s*)(?:should|would|must)\s+be\s+
      |(?<![{CASED}])(?:is|(?:left|best|aligns?|consistent|line)\s+with)\s+(?=(?:option\s+)?[("']?[A-Z][)"']{{0,2}}(?:\s+[a-z]+)?\s*(?:$|\n|[.!]\s|[.!]$))
      |\bis\s+(?:most\s+likely\s+)?(?:the|an?)\s+(?=[A-Za-z]{{2}})
      |\b(?:gotta|got\s+to|has\s+to|must)\s+be\s+|\bmy\s+(?:money|bet|vote)\s+is\s+on\s+
      |(?:认为|觉得|判断)(?:应该)?[是为]?\s*
      |\bmy\s+(?:best\s+|educated\s+)?guess\s+(?:is|would\s+be)\s*:?\s*
      |\b(?:but|rather|instead)[\s,:]+(?:it(?:'s|\s+is)\s+|rather\s+|now\s+)?
      |\b(?:diagnosis|impression|finding|conclusion)(?:\s+is|\s*:|\s+of)\s+
      |=>\s*|->\s*|\u2192\s*|\u21d2\s*)
    (?:{_FILLER}){{0,2}}""",
    re.IGNORECASE | re.VERBOSE,
)
"""A hint at an answer; used only if nothing is announced outright."""

ORDINAL = re.compile(
    r"\bthe\s+(?P<place>first|second|third|fourth|fifth|sixth|last)\s+(?:answer\s+)?option(?=\s*,|\s+(?:is|seems|fits|matches)\b)",
    re.IGNORECASE,
)
"""An option referred to by its position, about which something is said."""
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")

PREFERRED = re.compile(
    r"""(?:\s+(?:is|as|to\s+be|seems|looks|appears|remains)(?:\s+like)?)?(?:\s+(?:by\s+far|clearly|definitely|overall|therefore))?
      (?:\s+(?:the|a|my))?(?:\s+(?:far|much))?\s+(?:better|best|correct|right|preferred|superior|strong(?:er|est)|winner|preferable
        |stands\s+out|wins|(?:more|most)\s+(?!common|frequent|prevalent|rare|often|typical\s+of|likely\s+to)\w+)\b
      |\s*(?:选项|選項|项)?\s*(?:是)?(?:更|较|最)(?:合适|符合|恰当|可能|准确|有可能)|\s*的?可能性(?:最|更|较)?(?:大|高)""",
    re.IGNORECASE | re.VERBOSE,
)
"""After a letter: it is preferred to the others."""

LEADS_TO_LETTER = re.compile(
    r"""(?:[=\u2192%]|->|\b(?:by|is|as|be|to|with|call\s+(?:this|that|it)|means?|selecting|choosing|picking|making|leaving|giving)
      |(?:\b[\w'-]+\s+){3,}[\w'-]+:|归类为|倾向于?|指向|对应(?:的是)?|属于)\s*["'(\[]?$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Before a phrase-final letter: words that lead up to it, not a noun that it could label."""

FOLLOWS_LETTER = re.compile(
    r"""[\s,]*(?:i\s+(?:think|believe|guess|suppose|reckon)|i(?:'d|\s+would)\s+say|it\s+is|it\s+seems|for\s+sure|stays|remains|gets\s+my\s+vote|would\s+be\s+my\s+(?:pick|choice|answer|guess)|without\s+(?:a\s+)?doubt
      |definitely|most\s+likely|probably)\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""After a sentence-initial letter: the speaker commits to it."""

LABELLING = re.compile(
    r"\b(?:mark\w*|label\w*|arrow\w*|annotat\w*|denot\w*|point\w*|letter|indicat\w*|compar\w*|calipers?|fig(?:ure)?|panel|see)\b",
    re.IGNORECASE,
)
"""In the clause of a letter: it may be the label of something in the image."""

VERDICT = re.compile(
    rf"""(?:^|[.;:,!?\n("]|(?<=[^\x00-\u024f])|\b(?:options?|choice|answer|letter|that|so|thus|therefore|hence|then|think|believe|say
          |but|yet|and|only|while|whereas|because|conclude|makes?|making|opcion|antwort|reponse|alternativa)\b)[\s"'(\[]{{0,6}}
      (?:(?:option|choice|answer|letter|选项)\s*)?[("'\[]?(?P<letter>[A-Za-z])[)"'\].]?(?![{CASED}'-])
      (?P<text>[^.;\n]{{0,80}}?)
      (?:[^\S\n]+(?:is|seems|appears|looks|would[^\S\n]+be|must[^\S\n]+be|should[^\S\n]+be|remains)(?:[^\S\n]+to[^\S\n]+be)?
          (?:[^\S\n]+(?:clearly|definitely|probably|therefore|thus|indeed|most|more|the|by|far|only|single|very|also|a|an|my|your|final|correct|preferred))*
          [^\S\n]+(?:correct|right|true|best|better|likely|plausible|probable|appropriate|accurate|answer|choice|one[^\S\n]+that[^\S\n]+(?:best|most|fits|matches)|first[^\S\n]+choice|top[^\S\n]+choice|fitting|suitable|consistent)\b
        |[^\S\n]*:[^\S\n]*(?:is[^\S\n]+)?(?:correct|right|true)\b(?![^\S\n]*[\w-])
        |(?<=[A-Z)\]])[^\S\n]+(?:the[^\S\n]+)?(?:correct|right|best)[^\S\n]+(?:answer|choice|option)\b
        |(?<=[A-Z)\]])[^\S\n]+the[^\S\n]+(?:answer|choice)\b
        |[^\S\n]+is[^\S\n]+what[^\S\n]+i(?:'d|[^\S\n]+would|'ll)?[^\S\n]+(?:pick|choose|select|say|answer|see|find|observe|go[^\S\n]+with)\b
        |(?<=[A-Z)\]])[^\S\n]+(?:the[^\S\n]+)?(?:more|most)[^\S\n]+(?:likely|probable|plausible|fitting|appropriate)\b
        |[^\S\n]+(?:es|est|ist|e)[^\S\n]+(?:la[^\S\n]+|die[^\S\n]+|a[^\S\n]+)?(?:correcta?|correcte|correta|richtige?|korrekte?|juste)\b
        |[^\S\n]+(?:best|most[^\S\n]+\w+|better|correctly|clearly)[^\S\n]+(?:describes?|matches|fits|represents?|explains?|corresponds|answers)\b
        |[^\S\n]+fits[^\S\n]+(?:best|better)\b|[^\S\n]+it[^\S\n]+is[^\S\n]*(?=$|[.!\n])
        |[^\S\n]+is[^\S\n]+(?:best[^\S\n]+|most[^\S\n]+|strongly[^\S\n]+|well[^\S\n]+)?(?:supported|favou?red|preferred|left)\b|[^\S\n]+remains[^\S\n]*(?=$|[.!\n])
        |[^\S\n]*(?:选项|選項|项)?[^\S\n]*(?:是|才是)?[^\S\n]*(?<!不)(?:正确|正確|对的|正解|最?符合|最合适|最恰当|最佳)
        |[^\S\n]*が(?:正解|正しい)|[^\S\n]*(?:이|가)[^\S\n]*정답)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A sentence that judges one letter correct."""

SINGLED = re.compile(
    rf"""(?:\b(?i:only|just)\s+(?:(?:option|choice)\s+)?[("']?([A-Z])[)"']?(?![{CASED}'-])
      \s+(?:fits|matches|remains|works|makes\s+sense|explains|describes|applies|is\s+(?:left|possible|plausible|consistent|supported))\b)
    |(?:\b(?i:all|every\w*|others?|options?)\b[^.;:\n]{{0,40}}?\s(?:except|but|besides|other\s+than|apart\s+from)\s+(?:(?:for|option)\s+)*
      [("']?([A-Z])[)"']?\s+(?:are|is|were|was|can\s+be|have\s+been)\s+(?:\w+\s+)?
      (?:incorrect|wrong|false|ruled\s+out|excluded|eliminated|unlikely))
    |除(?:了)?(?:选项)?([A-Z])(?:选?项)?(?:以外|之外|外)[^.]{{0,12}}(?:均|都|皆)(?:不|错|排除|可排除)""",
    re.VERBOSE,
)
"""A sentence that leaves only one letter."""

RANKED = re.compile(
    r"(?:^\W*|(?i:rank(?:ing|ed)?|order\s+of\s+(?:likelihood|probability)|most\s+to\s+least\s+likely)\b[^:\n]{0,40}:\s*)"
    r"([A-Z])(?:(?:\s*>{1,2}\s*[A-Z]){1,5}|(?<=: [A-Z])(?:,\s*[A-Z]){1,5})\W*$",
    re.MULTILINE,
)
"""A line that ranks letters, the likeliest first."""

WEAK = re.compile(
    r"^(?!.*\b(?:most|best|more)\b).*\b(?:likely|plausible|probable|consistent|suitable|appropriate|accurate|supported|fitting)$",
    re.IGNORECASE | re.DOTALL,
)
"""A verdict that may hold for several letters."""

TERM = re.compile(
    r"\s+(?:lines?|cells?|spine|arm|dimers?|sections?|signs?|mode|waves?|fibres|fibers|deficiency)\b"
    r"|\s*[光超型类類级級期区區组組族点點线線片图像臂肝](?!题|題)|\s*(?:细胞|細胞|淋巴)",
    re.IGNORECASE,
)
"""After a letter: it is part of a medical term."""

CARRIER = re.compile(
    r"""\s+(?:(?:chest|brain|head|cranial|cardiac|heart|breast|lung|thoracic|abdominal|spine|spinal|pelvic|fetal|frontal
        |lateral|axial|coronal|sagittal|pa|ap|medical|diagnostic|mr)\s+){0,2}
      (?:images?|scans?|picture|photograph|views?|planes?|projection|orientation|section|slice|sequence|study|exam
        |examination|radiographs?|films?|x-rays?|radiography|imaging|ct|mri|mr|ultrasound|sonogram|mammogram|modality
        |tumou?rs?|lesions?|category|infection|disease|severity|degree|(?:\w+\s+)?tissue|process|pattern|appearance|virus(?:\s+infection)?|vertebral\s+body|vertebra|vertebral\s+level|level|quadrant|corner|part|side|portion|half|retina|fundus|mucosa|pneumonia|glioma)\b(?!-)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A noun after an option's text that does not change its meaning."""

AFTER_MENTION = re.compile(
    r"""\s*(?:$|[.,;:!=()\]"'\n\u3002\u3001\u2013\u2014-]|[^\x00-\u024f]
      |(?:is|are|was|were|in(?!\s+(?:size|shape|contour|position|calib|course|signal))|on|at|of|within|here|seen|visible|present|identified|noted|shown|evident|as|and|it\s+is|without|because|since|which
        |that|due|with|involving|near|for|from|by|based|given|also|projecting|overlying|across|into|through|along|throughout|more|most|best|would|can|has|have|accounts|explains|describes|matches|makes|seems?|appears?|remains?|looks?|fits?
        |the\s+(?:most|best|likeliest)|than|over|\w{2,}(?:ed|ly)|rather|instead|not|unlike)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""What may follow an option's text; any other noun would change its meaning."""
