"""Words that tell what the words beside them name: titles, offices, legal forms, kinds of bodies and of products."""


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Large only because a sentence begins with them, or because English writes them so; no name begins or ends with one.
PLAIN = _word_set(
    """a about above according accordingly across actually add additional additionally after again against all allow
    almost along already also although always among an and another any anyone anything apart approximately are
    around as ask at available avoid based be because become been before being below besides best better between
    beyond both bring but by call can cannot change check choose click close common compare complete completely
    conclusion confirm connect consider contact contains continue could create current currently customer
    customers data dear define depending describe despite details did do does doing done don down due during
    each early either else employees enable end enjoy ensure enter especially established etc even eventually
    ever every everyone everything example except explore few figure final finally find first follow following
    for founded from full further furthermore general generally get give given go good great guide had has have
    having he hello help hence her here hi high his home how however i if important in include includes
    including indeed information initially inside instead into introduction is it its itself join just keep key
    know known last later latest learn least less let like likewise limited list long look low made main make
    makes making manage many may maybe me mean meanwhile might moreover more most much must my near nearly need
    never nevertheless new next no none nor not note nothing now number of off offer offers often old on once
    one only open or order other others otherwise our out over overall overview own page part particularly per
    perform perhaps please plus possible press previous previously prior process provide provided provides put
    quick quite rather read ready recent recently refer regards related remember remove replace report required
    requires review right run safe said same save say second section see select send set several shall she
    should show similar similarly simply since so some something sometimes soon special start started step steps
    still stop submit such summary support sure table take tell ten than thank thanks that the their them then
    there thereby therefore these they thing things this those though three through throughout thus till tips to
    today together tomorrow too top total toward towards try turn two type under unfortunately unless unlike
    until up update upon us via use used user users using usually various verify version very view visit want was
    way we welcome well were what when whenever where wherever whether which while who whoever whole whom whose
    why will with within without work would yes yesterday yet you your yours yourself english french german
    spanish chinese japanese indian american british european african asian italian russian australian canadian
    mexican"""
)

CALENDAR = _word_set(
    """monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
    october november december jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun
    christmas easter spring summer autumn winter"""
)

# A number behind one of these counts something; it is no version.
COUNTED = _word_set(
    """figure fig table chapter section page part step phase level appendix article clause item no number room floor
    block sector gate unit lot vol volume issue question day week month year stage grade class act point rule
    tier version line route highway note exhibit annex schedule form box track lesson module option type group
    zone"""
)

BODIES = _word_set(
    """academy administration agency airlines airways alliance associates association authority bank brothers bureau
    capital church club college commission committee companies confederation congress consortium consulting
    cooperative council court department dynamics electric electronics energy engineering enterprises
    entertainment factory federation finance financial force foundation fund group healthcare hospital
    industries institute institution insurance international laboratories laboratory labs league logistics
    magazine media ministry motors museum networks news newspaper office orchestra organisation organization
    parliament partners partnership party petroleum pharma pharmaceuticals police press publishing railways
    records robotics school securities semiconductor senate services society software solutions steel studios
    systems team technologies technology telecom telecommunications television times treasury trust union
    university ventures works"""
)
# Also words for what is no body: on their own account they make one only of a name, not of a heading.
WEAK_BODIES = _word_set(
    """administration capital department dynamics electric energy engineering entertainment finance financial force
    fund group international logistics media office press records services society software solutions systems
    team technology times trust works insurance news network networks"""
)
BODY_HEADS = _word_set(
    """university ministry department institute bank council bureau office college academy court republic association
    society federation organization organisation board commission committee church museum school"""
)

PRODUCTS = _word_set(
    """suv sedan hatchback coupe pro max mini ultra lite app suite platform assistant chatbot edition series browser
    console printer camera smartphone phone tablet laptop watch card wallet portal toolkit sdk studio engine
    appliance scanner headset drone kit"""
)

OFFICES = _word_set(
    """ceo cto cfo coo cio ciso cmo president director chairman chairwoman chairperson chair founder co-founder
    cofounder author professor engineer scientist minister senator governor mayor ambassador secretary
    spokesperson spokesman spokeswoman analyst manager officer executive head partner editor journalist
    architect physicist mathematician researcher inventor economist lawyer attorney king queen prince princess
    emperor pope bishop saint actor actress singer composer painter poet novelist philosopher coach captain
    treasurer dean chancellor registrar vice"""
)
TITLES_BEFORE = _word_set(
    """mr mrs ms miss mx dr prof professor sir dame lord lady rev reverend capt captain col colonel gen general lt
    lieutenant sgt sergeant maj major hon judge justice president senator governor king queen pope saint emperor
    chancellor prince princess ceo cto cfo coo chairman minister mayor"""
)
ABBREVIATED = _word_set("""mr mrs ms dr prof rev capt col gen lt sgt maj hon st jr sr""")

SPEAKS = _word_set(
    """said says wrote writes argued argues stated states told explained explains noted joined graduated married
    resigned retired believed proposed"""
)
ACTS = _word_set(
    """announced acquired employs launched acquires operates manufactures supplies merged reported partnered"""
)
MAKERS = _word_set(
    """founded written authored invented painted composed directed discovered designed proposed created led signed"""
)
OF_A_BODY = _word_set(
    """ceo cto cfo coo president founder co-founder employee employees subsidiary division chairman director
    headquarters board shareholders customers acquisition part"""
)
# Say of the name before them that it is somebody's.
PRONOUNS = _word_set("""he his him himself she her herself who whom whose""")
# Ordinary words that are written large in menus and brochures.
COMMON = _word_set(
    """account admin air annual area bank banking basic booking branch business car card cash central check child city
    class classic client code college company computer contact credit current daily data debit design digital direct
    easy education electronic employee event exchange express family fast financial first flight free gift global gold
    government group guest health help home hotel house human insurance internal international internet job law leave
    legal life light live loan local main market master medical mobile money monitor month national network news night
    online open operations pay payment personal pet phone platinum policy premium priority private product program
    project property public quality quick rail rate real rental research room safe sales savings school science security
    service services share shop silver site smart social software solution solutions special staff standard store
    street student study super supply support system tax team tech technology test time tour trade training transfer
    travel university user video visa voice vote water web week work world year young your"""
)
WORKS = _word_set("""works worked working employed""")
PLACE_BEFORE = _word_set("""in at from near to across throughout outside around towards visit visited""")

STREETS = _word_set(
    """road street avenue lane boulevard highway square park drive plaza marg nagar complex circle way court place
    bridge river lake mountain mountains island islands bay sea ocean valley county province district airport
    station beach desert forest harbour harbor rd ave blvd"""
)
SIDES = _word_set("""north south east west northern southern eastern western central greater upper lower mainland""")
LEGAL_FORMS = _word_set(
    """Inc Incorporated Corp Corporation Ltd Limited LLC LLP GmbH AG SE SA PLC plc Co Company KG BV NV AB Oy Oyj ASA
    A/S ApS Pty SpA Srl SARL SAS Kft SRO LP Holdings Holding mbH UG OHG"""
)

# Letters that stand for no thing of their own.
NO_ACRONYMS = _word_set(
    """AM PM OK NO YES THE AND FOR NOT ALL TO IN OF ON AT BY AS IF BE WE IS IT OR AN DO GO SO UP MY ME HE US II III IV
    VI VII VIII IX XI XII XIII XIV XV XX MR MRS MS DR VS TBD TBA NA ETC USD EUR GBP INR JPY CHF KM CM MM KG MG
    ML MB GB TB KB HZ MHZ GHZ KW MW KWH NOTE MUST SHALL MAY CAN WILL WITH FROM THIS THAT YOU YOUR ARE WAS HAS
    NEW FIG TAB NR PP ED EDS CH SEC VOL JAN FEB MAR APR JUN JUL AUG SEP OCT NOV DEC MON TUE WED THU FRI SAT SUN
    PO BOX APT ST RD CA NY TX FL CO AZ WA NJ PA OH IL MA VA GA NC MI ALSO ONLY EACH ANY BUT NOW OUT USE ONE TWO"""
)

# Given names that are common in several countries, and hardly anything else.
GIVEN = _word_set(
    """aaron adam adrian ahmed alan albert alejandro alessandro alex alexander alexandra alice alicia amanda amelia
    amir amit amy ana andrea andreas andrew angela anil anita anjali ann anna anne anthony antonio arjun arthur
    ashley barbara ben benjamin bernard beth betty bob brandon brenda brian bruce carl carla carlos carol
    caroline catherine charles cheryl chris christian christina christine christopher claire clara claudia colin
    craig cynthia daniel daniela david deborah deepak dennis diana diane diego dmitri dominic donald donna
    dorothy douglas edward elena elizabeth emily emma eric erik ernst esther eva fatima felix fernando francesca
    francis francisco frank franz fred frederick friedrich gabriel gary george gerald giovanni giulia gloria
    gregory guillaume hans harold harry hassan heather heinrich helen henry hiroshi howard hugo ibrahim ingrid
    isaac isabel isabella ivan jack jacob jacqueline jacques james jan jane janet janice jason javier jean jeff
    jeffrey jennifer jeremy jerry jessica jim joan joe johann johannes john jonathan jorge jose joseph joshua
    joyce juan judith julia julian julie karen karl katherine kathleen keith kenneth kevin kimberly klaus kumar
    larry laura lauren laurent lawrence lena leo leonardo lewis linda lisa louis louise lucas lucia luis luke
    maria margaret marco marcus marie mario mark martha martin mary matthew maya megan mehmet melissa michael
    michel michelle miguel mohamed mohammed monica nancy natalia nathan neha nicholas nicole nikhil nina noah
    olga oliver olivia omar pablo pamela patricia patrick paul paula pedro peter philip philipp pierre pooja
    priya rachel rahul raj rajesh ralph ravi raymond rebecca ricardo richard rita robert roberto roger rohit
    ronald rosa roy russell ruth ryan samantha samuel sandra sanjay sara sarah scott sergei sharon shirley simon
    sofia sonia sophia sophie stefan stephanie stephen steve steven sunita susan suresh sylvia teresa theodore
    theresa thomas tim timothy tom tony tracy ursula valentina vanessa vera victor vijay vikram vincent vivian
    vladimir walter wei wendy wilhelm william wolfgang yuki yusuf zoe"""
)
