/**
 * Owns how people word what must outlive a summary: tasks, constraints, decisions, and what did not work, in the languages they write in.
 * Each pattern is asked about one sentence.
 */

/** Words between borders that also hold for letters beyond ASCII. */
const words = (...all: ReadonlyArray<string>) =>
  new RegExp(`(?<![\\p{L}\\p{N}])(?:${all.join("|")})(?![\\p{L}\\p{N}])`, "iu")
/** Where nothing stands between words. */
const signs = (...all: ReadonlyArray<string>) => new RegExp(all.join("|"), "u")
const opening = String.raw`(?:^|[,:;–—(]\s*|\b(?:and|then|but|also|please|just|first|now|so|und|et|y|e|en)\s+)`
const starts = (...all: ReadonlyArray<string>) => new RegExp(`${opening}(?:${all.join("|")})(?![\\p{L}\\p{N}])`, "iu")

/** What nobody says without laying something down, in any kind of text. */
const obligations: ReadonlyArray<RegExp> = [
  words(
    "must(?:n't)?(?! have been| be (?:a |an |the )?(?:kidding|joking|mistaken|fun|nice|hard))",
    "shall(?: not)?",
    "(?:is|are|be) (?:not )?(?:required|forbidden|mandatory|prohibited|(?:not )?allowed|out of scope)",
    "may (?:not|only)",
    "(?:only|nobody|no one|none)(?: \\S+){0,4} (?:may|must|can)",
    "(?:at most|no more than|not more than|no later than|no less than|not exceed)",
    "(?:at least|up to|within) (?:\\p{N}+|one|two|three|four|five|six|seven|ten|a (?:second|minute))",
    "(?:below|under|over|above|more than|less than|fewer than|between) \\p{N}+(?:[.,]\\p{N}+)?",
    "acceptance criteri(?:a|on)",
    "definition of done",
    "done (?:means|when)",
    "out of scope",
    "no (?:new|other|further|extra|additional|more|breaking|default|global|schema|external) \\S+",
    "feature freeze",
  ),
  words(
    "muss(?:t|ten)?",
    "müssen",
    "soll(?:en|te|ten)?",
    "darf(?:st)?",
    "dürfen",
    "höchstens",
    "mindestens",
    "maximal",
    "nicht mehr als",
    "auf keinen fall",
    "keine(?:n|r|s)? (?:neuen?|weiteren?|anderen?|globalen?|externen?|zusätzlichen?)",
    "bleib(?:t|en) (?:gleich|unverändert|so|bestehen|erhalten)",
  ),
  words(
    "doi(?:t|vent)",
    "devr(?:a|ont|ait)",
    "il (?:ne )?faut",
    "interdit",
    "obligatoire",
    "au (?:plus|moins|maximum|minimum)",
    "(?:jamais|pas) plus de",
  ),
  words(
    "deb(?:e|en|ería|erían)",
    "ti?en(?:e|en)s? que",
    "hay que",
    "prohibid[oa]s?",
    "como (?:máximo|mínimo)",
    "a lo sumo",
    "al menos",
    "no más de",
    "obligatori[oa]s?",
    "deve(?:m|rá|ria|riam|rão)?",
    "t[eê]m? que",
    "(?:não )?precisa(?:m)?",
    "no (?:máximo|mínimo)",
    "não (?:pode|podem)",
    "pelo menos",
  ),
  words(
    "dev(?:e|ono|i)",
    "dovrebbe(?:ro)?",
    "bisogna",
    "al (?:massimo|più)",
    "almeno",
    "vietato",
    "non (?:può|possono)",
    "moet(?:en)?",
    "(?:mag|mogen|mag er|hoeft) (?:niet|geen|alleen|maar)",
    "hoogstens|maximaal|minstens|minimaal",
    "måste|skall?(?: inte| ikke)?|får (?:inte|ikke|bara)|må (?:ikke|ikkje|kun|bare)|högst|høyst|højst|minst|mindst",
    "täytyy|pitää|ei saa|saa (?:olla )?enintään|enintään|vähintään",
  ),
  words(
    "mus(?:i|zą|í|ejí|íme)|nie (?:wolno|może|mogą)|należy|powin(?:ien|na|no|ny)|co najmniej|najwyżej|maksymalnie|nes(?:mí|mějí)|nejvýše|alespoň",
    "trebuie|nu (?:are voie|poate|pot)|cel (?:mult|puțin)|kell|nem szabad|legfeljebb|legalább",
    "gerek(?:iyor|ir|li)?|en (?:fazla|az)|\\p{L}+m[ae]l[ıi](?:d[ıi]r)?|zorunda|asla",
    "нужн[оаы]?|надо|должн[аоы]|должен|нельзя|необходимо|обязательно|не более|не менее|максимум|запрещено|потрібно|треба|повин(?:ен|на|но|ні)|не можна|щонайменше|щонайбільше",
    "трябва|πρέπει|το πολύ|τουλάχιστον|απαγορεύεται",
    "harus|tidak boleh|maksimal|wajib|phải|không được|tối đa|tối thiểu|ít nhất|bắt buộc",
  ),
  signs(
    "必ず|なければな|べき|しないこと|ないこと|すること|禁止|以内|以下|以上|最大|最低|必須|必要があ",
    "必须|必須|不得|不能|不可以?|不允许|不许|禁止|至少|最多|不超过|不要|只能|务必|务須|應該|应该|应当",
    "해야|하면 안|안 됩니다|안 돼|반드시|최대|최소|이내|이하|이상|금지|필수",
    "يجب|ممنوع|لا يجوز|على الأكثر|على الأقل|לא יותר|חייב|אסור|צריך|चाहिए|अनिवार्य|अधिकतम|न्यूनतम|ต้อง|ห้าม|ไม่เกิน|อย่างน้อย",
  ),
]

/** What a person says who wants something done, or left alone. */
const wishes: ReadonlyArray<RegExp> = [
  starts(
    "add|remove|delete|drop|fix|make|build|create|implement|write|rewrite|rename|move|change|update|upgrade|replace|convert|refactor|split|merge|extract|keep|leave|use|avoid|stop|start|ensure|support|allow|show|hide|put|set|test|cover|document|translate|migrate|port|revert|undo|commit|push|deploy|release|bump|enable|disable|handle|return|store|save|send|log|cache|validate|sort|wrap|switch|turn|treat|ask|wait|limit|stick|prefer|follow|work|go|do|run|skip|ignore|touch|clean|lock|tell(?! me)|let's",
    "never|always|only|don't|do not|dont|no(?= \\p{L}+ing)",
    "(?:can|could|would|will) you (?:please )?(?:add|remove|delete|fix|make|build|create|implement|write|rename|move|change|update|replace|convert|refactor|split|use|put|set|test|keep|run|check)",
  ),
  words(
    "please (?!explain|tell|say)\\p{L}+",
    "I(?:'d| would)? (?:want|need|like to have|like it|like the|prefer|insist|expect)",
    "we (?:want|need|require|expect)",
    "(?:the )?users? (?:wants?|needs?|prefers?|asked|expects?|seems? to prefer|likes?)",
    "should(?:n't| not)?",
    "ha(?:s|ve) to(?! admit| say)",
    "needs? to(?! know)",
    "(?:can't|cannot|mustn't) be",
    "instead of",
    "from now on",
    "only (?:if|when|for|the|by|once|after|fixes)",
    "optional",
    "required",
    "without (?:changing|breaking|touching|a |any |using|adding)",
    "make sure",
    "be (?:friendly|brief|concise|careful|short)",
    "goal",
  ),
  words(
    "bitte",
    "ich (?:will|möchte|brauche|hätte gern)",
    "wir (?:brauchen|wollen|möchten)",
    "kein(?:e|en|er)? (?!ahnung|idee|zeit|lust|sorge|problem|wunder|frage|angst|plan\\b)\\p{L}+",
    "nichts (?:ändern|löschen|anfassen|schreiben)",
    "stattdessen",
    "je (?:veux|voudrais|souhaite|préfère)",
    "n[e'’] ?(?:\\p{L}+ez|touche|change|modifie|supprime|utilise|casse|ajoute|mets?|fais) (?:pas|jamais|plus|rien|que)",
    "s'il (?:te|vous) pla[iî]t",
    "merci de|veuille[zr]",
    "il me faut|on garde|utilise[rz]?|ajoute[rz]?|supprime[rz]?|garde[rz]?",
  ),
  words(
    "quiero|quisiera|necesit(?:o|amos)|por favor",
    "no \\p{L}{2,}(?:es|as|éis|áis)",
    "que no \\p{L}+",
    "quero|preciso|gostaria|não (?:use|mude|altere|mexa|toque|quero)",
    "vorrei|voglio|per favore|non (?:usare|toccare|cambiare|modificare|voglio)",
    "graag|alsjeblieft|alstublieft|ik wil|geen \\p{L}+",
    "vänligen|snälla|jag vill|jeg vil|vær så snill|ändra inte|ikke (?:endre|rør|slett|bruk)|rör inte|älä|haluan",
  ),
  words(
    "proszę|chcę|chciał(?:bym|abym)|nie (?:zmieniaj|używaj|ruszaj|dodawaj)",
    "prosím|chci|nepoužívej|neměň|přidej|použij",
    "vreau|te rog|vă rog|szeretném|kérlek|kérem",
    "lütfen|istiyorum|\\p{L}+m[ae]y[ıi]n|kullanma|değiştirme|olsun|olmasın",
    "пожалуйста|хочу|хотим|не (?:трогай|меняй|используй|удаляй|добавляй)(?:те)?|добавь(?:те)?|сделай(?:те)?|используй(?:те)?|будь ласка",
    "παρακαλώ|μην|θέλω",
    "tolong|jangan|saya (?:mau|ingin)|vui lòng|đừng|tôi muốn",
  ),
  starts(
    "nur|nie|niemals|immer|ändere?|nimm|mach|lass|verwende|benutze?|nutze|füge|entferne|lösche|schreib|baue?|teste?|erst|zuerst",
    "uniquement|seulement|toujours|jamais|utilise[rz]?|ajoute[rz]?|supprime[rz]?|garde[rz]?|fai(?:s|tes)|mets|mettez",
    "nunca|solo|sólo|siempre|usa|añade|agrega|elimina|cambia|mantén|deja|pon|haz|sempre|somente|apenas|adicione|remova|mantenha|mai|soltanto|aggiungi|rimuovi|lascia|mantieni",
    "nooit|altijd|alleen|gebruik|voeg|laat|verwijder|maak|aldrig|aldri|alltid|altid|bara|kun|bare|använd|bruk|brug|inga|lägg|legg|ta bort|fjern|aina|vain|käytä|lisää|poista",
    "nigdy|zawsze|tylko|dodaj|użyj|usuń|zmień|nikdy|vždy|jen|doar|niciodată|adaugă|folosește|csak|soha|mindig|használj|sadece|yalnızca|hiçbir zaman|her zaman",
    "никогда|всегда|только|ніколи|завжди|тільки|лише|додай|сначала|μόνο|ποτέ|πάντα|hanya|selalu|gunakan|tambahkan|chỉ|luôn|không bao giờ|hãy|dùng",
  ),
  signs(
    "してください|して下さい|ないでください|にしてほしい|が欲しい|のみ|だけに|にしましょう|まで(?:に|。|$)",
    "(?:^|[，。,])请(?!问|解释|说明)|请(?:把|将|使用|用|不|保|添加|修改|只)|只(?:用|需|改|在)|需要|希望|不用|別|别(?:改|动|用)|保持",
    "해\\s?주세요|하지 ?마|하지 말|말아 ?주세요|만 사용|주십시오|원합니다|유지",
    "يرجى|من فضلك|فقط|أريد|لا ت[\\u0621-\\u064A]+|בבקשה|רק|אל ת|אני רוצה|कृपया|केवल|मत|หน่อย|กรุณา|อย่า|เท่านั้น",
  ),
]

/** What was settled. */
const settlements: ReadonlyArray<RegExp> = [
  words(
    "(?:I|we)(?:'ve| have)? (?:decided|chose|chosen|agreed|settled|opted|picked|dropped|rejected|ruled out)(?: (?:to|on|for|that|against|the|not|a))?",
    "(?:it (?:was|is)|that(?:'s| is)|was|is|already) (?:decided|agreed|settled|rejected)",
    "(?:I|we)(?:'ll| will|'re going to| are going to|'m going to| am going to)? (?:go(?:ing)? with|stick(?:ing)? (?:with|to)|keep|use|store|leave|release|ship|drop|replace|switch to|avoid|hold to)(?! (?:in mind|an eye|the search|it in))",
    "I(?:'m| am) (?:going with|using|keeping|leaving|replacing|switching)",
    "let's (?:go with|use|keep|take|drop|do it|stick)",
    "decision|decided|deliberately",
    "(?:my|the) (?:rule|recommendation|choice|plan|proposal|decision|approach) (?:is|was|will)",
    "recommend(?:ation|ed)?",
    "(?:I|we)(?:'ll| will) (?:not|never|first|only)",
    "not before|wait(?:s|ing)? for \\p{L}+'s (?:approval|review|answer)",
  ),
  words(
    "entschieden|entscheidung|entschluss|beschlossen|vereinbart|wir (?:nehmen|bleiben bei|verwenden|behalten)|ich (?:nehme|verwende|behalte)",
    "(?:j'ai|nous avons|on a) (?:décidé|choisi|convenu)|décision|on (?:prend|part sur)|retenu",
    "(?:he|hemos) (?:decidido|elegido|acordado)|decidimos|decisión|decidid[oa]|acordado|vamos (?:a usar|con|usar)|decisão|decidi|combinamos|escolhi",
    "(?:ho|abbiamo) (?:deciso|scelto|concordato)|decisione|deciso|usiamo|besloten|beslissing|afgesproken|we (?:kiezen|gebruiken|houden)|gekozen",
    "beslut(?:at|ning|et)?|bestämt|bestemt|valde|vi (?:tar|väljer|bruker|bruger|använder)|päätös|päät(?:in|imme|etty)",
    "decyzja|zdecydowa\\p{L}+|ustalili\\p{L}+|rozhod\\p{L}+|hotărât|am decis|eldöntöttük|döntés|karar(?: verdik| verdim)?",
    "решил[иа]?|решено|решение|договорились|вирішили|рішення|αποφασίσαμε|diputuskan|keputusan|quyết định",
  ),
  signs("決めました|決定|ことにし|採用し|决定|決まり|采用|选择了|결정|하기로|정했|قررنا|قرار|החלטנו|तय किया|ตัดสินใจ"),
]

/** What was tried in vain. */
const failures: ReadonlyArray<RegExp> = [
  words(
    "(?:did not|didn't|does not|doesn't|won't|would not|wouldn't|never) (?:work|help|scale|solve|fix)(?:ed)?(?: here)?",
    "(?:I|we)(?:'ve| have)?(?: already)? tried",
    "already tried|tried (?:that|this|it)|in vain|to no avail|dead end|no luck|without success",
    "(?:made|makes) (?:it|things) worse",
    "(?:had to|we|I) (?:revert|reverted|roll back|rolled back|give up|gave up)",
  ),
  words(
    "(?:hat|haben|funktioniert|klappt|ging|half|hilft|geht)(?: \\p{L}+){0,4} nicht(?: (?:geholfen|funktioniert|geklappt))?|vergeblich|schon (?:versucht|probiert)|(?:habe|haben)(?: \\p{L}+){0,5} (?:versucht|probiert)",
    "n['’]a pas (?:marché|fonctionné|aidé)|ne (?:marche|fonctionne) pas|(?:j'ai|on a|nous avons)(?: déjà)? (?:essayé|tenté)|en vain",
    "no (?:funcionó|funciona|sirvió|ayudó)|ya (?:probé|probamos|intent\\p{L}+)|não (?:funcionou|funciona|ajudou|resolveu)|já (?:tentei|tentamos)|non (?:ha funzionato|funziona)|(?:ho|abbiamo)(?: già)? provato|werkt(?:e)? niet|al geprobeerd|fungera\\p{L}* (?:inte|ikke)|nie (?:działa|zadziałało|pomogło)|не (?:помогло|работает|сработало)|пробовал[иа]?|ise yaramadı|işe yaramadı|çalışmadı",
  ),
  signs(
    "うまくいか|効果がありません|動きませんでした|試しましたが|没有用|不起作用|试过|行不通|안 됐|작동하지 않|소용없",
  ),
]

const some = (patterns: ReadonlyArray<RegExp>) => (sentence: string) =>
  patterns.some((pattern) => pattern.test(sentence))

export const obliges = some(obligations)
export const wants = some(wishes)
export const settles = some(settlements)
export const failed = some(failures)

const question = /[?？؟]["”»)]*$/
const polite =
  /^\W*(?:please|(?:can|could|would|will) you (?:please )?(?:add|remove|delete|fix|make|build|create|implement|write|rename|move|change|update|replace|convert|refactor|split|use|put|set|keep))\b/i

/** It asks for an answer, not for something to be done. */
export const isQuestion = (sentence: string): boolean => question.test(sentence) && !polite.test(sentence)

/** More is data, not words. */
const longestText = 40_000
const longestSentence = 2_000

export const sentencesOf = (text: string): ReadonlyArray<string> =>
  text
    .slice(0, longestText)
    .split(/(?<=[.!?;])\s+|(?<=[。！？؟।])|\n+/)
    .map((sentence) => sentence.trim().slice(0, longestSentence))
    .filter((sentence) => sentence !== "")
